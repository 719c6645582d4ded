#include "lact/models/video/state_file.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/io/safetensors.h"
#include "lact/models/video/folder.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_video.h"

namespace lact::models {
namespace {

using lact::testing::make_video;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_video;

struct CountingDecoder : State {
  at::Tensor last = at::zeros({1, 3, 0, 4, 4});
  void visit(StateVisitor& visitor, const std::string& prefix) override {
    visitor.tensor(prefix + "last", last, 2);
  }
  std::unique_ptr<State> clone() const override { return std::make_unique<CountingDecoder>(*this); }
};

class SamplingFile : public ::testing::Test {
 protected:
  SamplingFile() {
    options_.solver.steps = 2;
    at::manual_seed(1);
    text_ = at::randn({1, 5, 6});
    negative_ = at::randn({1, 4, 6});
  }

  VideoSampler sampler() {
    VideoSampling sampling = begin_sampling(*model_, options_, -7);
    sampling.prompt = "a \"red\" ball\nrolls é";
    sampling.negative = "blurry";
    return {model_, std::move(sampling), text_, negative_};
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "video.state";
  std::shared_ptr<VideoModel> model_ = make_video(tiny_video());
  SampleOptions options_ = {.solver = {.solver = SolverKind::euler}, .guidance = 3.5};
  at::Tensor text_, negative_;
};

TEST_F(SamplingFile, ContinuesBitForBit) {
  auto momentum = tiny_video();
  momentum.layer.memory.update.momentum = true;
  for (const auto& config :
       {tiny_video(), tiny_video(MixerKind::window), tiny_video(MixerKind::full), momentum}) {
    model_ = make_video(config);
    VideoSampler made = sampler();
    made.next_chunk();
    made.next_chunk();
    CountingDecoder decoder;
    decoder.last = at::randn({1, 3, 2, 4, 4});
    const std::string hash = fingerprint(*model_);
    save_sampling(path_, made.sampling(), &decoder, hash);

    CountingDecoder decoder_again;
    VideoSampling loaded = load_sampling(path_, *model_, &decoder_again, hash);
    EXPECT_TRUE(decoder_again.last.equal(decoder.last));
    EXPECT_EQ(loaded.prompt, made.sampling().prompt);
    EXPECT_EQ(loaded.negative, "blurry");
    EXPECT_EQ(loaded.seed, -7);
    EXPECT_EQ(loaded.options, options_);
    EXPECT_EQ(loaded.chunks(), 2);
    VideoSampler again(model_, std::move(loaded), text_, negative_);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(made.next_chunk()->equal(*again.next_chunk())) << i;
    // What was saved and loaded is saved as the same bytes.
    save_sampling(path_, again.sampling(), nullptr, hash);
    save_sampling(path_ + "2", made.sampling(), nullptr, hash);
    EXPECT_EQ(lact::testing::read_file(path_), lact::testing::read_file(path_ + "2"));
  }
}

TEST_F(SamplingFile, DoesNotGrowWithTheVideo) {
  VideoSampler made = sampler();
  const auto bytes = [&](int chunks) {
    for (int i = 0; i < chunks; ++i) made.next_chunk();
    save_sampling(path_, made.sampling(), nullptr, "x");
    return std::filesystem::file_size(path_);
  };
  const auto after_one = bytes(1);
  EXPECT_EQ(bytes(4), after_one);
}

TEST_F(SamplingFile, WithoutGuidanceItHoldsOneMemory) {
  options_.guidance = 1;
  VideoSampler made = sampler();
  made.next_chunk();
  save_sampling(path_, made.sampling(), nullptr, "x");
  for (const auto& [name, tensor] : io::read_safetensors(path_).tensors)
    EXPECT_FALSE(name.starts_with("negative.")) << name;
  EXPECT_EQ(load_sampling(path_, *model_, nullptr, "x").with_negative, nullptr);
}

TEST_F(SamplingFile, MistakesAreSentences) {
  EXPECT_SENTENCE(save_sampling(path_, sampler().sampling(), nullptr, "x"), "no chunk is finished");
  VideoSampler made = sampler();
  made.next_chunk();
  save_sampling(path_, made.sampling(), nullptr, "x");
  const auto load = [&](State* decoder = nullptr) { load_sampling(path_, *model_, decoder, "x"); };
  EXPECT_SENTENCE(load_sampling(path_, *model_, nullptr, "y"), "was made by another model (x)");
  CountingDecoder decoder;
  EXPECT_SENTENCE(load(&decoder), "tensor decoder.last is missing");
  EXPECT_SENTENCE(load_sampling(folder_ / "none", *model_, nullptr, "x"), "none");

  const auto file = io::read_safetensors(path_);
  const auto with = [&](auto change) {
    auto changed = file;
    change(changed);
    io::write_safetensors(path_, changed);
  };
  with([](auto& all) { all.tensors["more"] = at::ones({1}); });
  EXPECT_SENTENCE(load(), "more is not part of a video of this model in the making");
  with([](auto& all) { all.tensors.erase("negative.chunks"); });
  EXPECT_SENTENCE(load(), "negative.chunks is missing");
  with([](auto& all) { all.tensors["negative.chunks"] = at::full({1}, 2, at::kLong); });
  EXPECT_SENTENCE(load(), "the memory with the prompt has 1 chunks, the one with the negative text 2");
  with([](auto& all) {
    all.tensors["prompt.chunks"] = all.tensors["negative.chunks"] = at::zeros({1}, at::kLong);
  });
  EXPECT_SENTENCE(load(), "holds no chunk");
  with([](auto& all) { all.tensors["prompt.rows"] = at::full({1}, 5, at::kLong); });
  EXPECT_SENTENCE(load(), "a memory of frames of 5 x 3 patches, expected 2 x 3");
  with([](auto& all) { all.metadata["sampling"] = "{"; });
  EXPECT_SENTENCE(load(), "\"sampling\" is not JSON");
  with([](auto& all) { all.metadata.erase("sampling"); });
  EXPECT_SENTENCE(load(), "\"sampling\" is not JSON");
  with([](auto& all) { all.metadata["sampling"] = R"({"sead": 3})"; });
  EXPECT_SENTENCE(load(), "sead");
  with([](auto& all) { all.metadata["sampling"] = R"({"options": {"guidance": -3}})"; });
  EXPECT_SENTENCE(load(), "guidance is -3");
  with([](auto& all) { all.metadata["kind"] = "lact scene"; });
  EXPECT_SENTENCE(load(), "is not a video in the making");
  with([](auto& all) { all.metadata["format"] = "2"; });
  EXPECT_SENTENCE(load(), "has format 2");
}

}  // namespace
}  // namespace lact::models
