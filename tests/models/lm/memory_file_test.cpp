#include "lact/models/lm/memory_file.h"

#include <filesystem>

#include "lact/io/safetensors.h"
#include "lact/models/lm/folder.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_lm.h"

namespace lact::models {
namespace {

using lact::testing::make_lm;
using lact::testing::random_ids;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_lm;
using lact::testing::tiny_lms;

std::span<const int64_t> span(const at::Tensor& ids) {
  return {ids.data_ptr<int64_t>(), size_t(ids.numel())};
}

TEST(MemoryFile, ContinuesAsIfNothingHadHappened) {
  for (const auto& [name, config] : tiny_lms()) {
    const TemporaryFolder folder;
    const auto model = make_lm(config);
    const std::string hash = fingerprint(*model);
    for (const int64_t length : {1, 8, 21}) {
      const at::Tensor text = random_ids(1, length), more = random_ids(1, 13);
      LmStream stream(model);
      stream.read(span(text));
      save_memory(folder / "text.mem", stream, hash);
      LmStream loaded = load_memory(folder / "text.mem", model, hash);
      EXPECT_EQ(loaded.position(), length);
      EXPECT_TRUE(loaded.next_logits().equal(stream.next_logits())) << name;
      stream.read(span(more));
      loaded.read(span(more));
      EXPECT_TRUE(loaded.next_logits().equal(stream.next_logits())) << name;
    }
  }
}

TEST(MemoryFile, ItsSizeDoesNotDependOnTheLength) {
  const TemporaryFolder folder;
  const auto model = make_lm(tiny_lm());
  const auto size_after = [&](int64_t length) {
    const at::Tensor ids = random_ids(1, length);
    LmStream stream(model);
    stream.read(span(ids));
    save_memory(folder / "text.mem", stream, "x");
    return std::filesystem::file_size(folder / "text.mem");
  };
  EXPECT_EQ(size_after(40), size_after(400));
}

TEST(MemoryFile, MistakesAreSentences) {
  const TemporaryFolder folder;
  const std::string path = folder / "text.mem";
  const auto model = make_lm(tiny_lm());
  const std::string hash = fingerprint(*model);
  LmStream stream(model);
  EXPECT_SENTENCE(save_memory(path, stream, hash), "nothing was read");
  const at::Tensor ids = random_ids(1, 20);
  stream.read(span(ids));
  save_memory(path, stream, hash);

  const auto other = make_lm(tiny_lm(), 99);
  EXPECT_NE(fingerprint(*other), hash);
  EXPECT_SENTENCE(load_memory(path, other, fingerprint(*other)), "was made by another model");

  const auto file = io::read_safetensors(path);
  const auto with = [&](auto change) {
    auto changed = file;
    change(changed);
    io::write_safetensors(path, changed);
  };
  const std::string weights = "blocks.0.mixer0.memory.weights0";
  ASSERT_EQ(file.tensors.count(weights), 1u);
  with([&](auto& all) { all.tensors.erase(weights); });
  EXPECT_SENTENCE(load_memory(path, model, hash), "is missing");
  with([&](auto& all) { all.tensors[weights] = at::ones({2, 2}); });
  EXPECT_SENTENCE(load_memory(path, model, hash), "has shape [2, 2]");
  with([&](auto& all) { all.tensors[weights] = at::full_like(file.tensors.at(weights), std::nan("")); });
  EXPECT_SENTENCE(load_memory(path, model, hash), "finite numbers");
  with([&](auto& all) { all.tensors["more"] = at::ones({1}); });
  EXPECT_SENTENCE(load_memory(path, model, hash), "not part of this model's memory");
  with([&](auto& all) { all.tensors["position"] = at::full({1}, -4, at::kLong); });
  EXPECT_SENTENCE(load_memory(path, model, hash), "position is not a count");
  with([&](auto& all) { all.metadata["kind"] = "something"; });
  EXPECT_SENTENCE(load_memory(path, model, hash), "is not a memory of a language model");
  // A count that does not fit the tokens kept is found when the text goes on.
  with([&](auto& all) { all.tensors["position"] = at::full({1}, 1004, at::kLong); });
  EXPECT_SENTENCE(load_memory(path, model, hash).read(span(ids)), "the state ends at token 20");
  // What it says of its tokens.
  with([&](auto& all) { all.tensors["tail"] = at::zeros({5}, at::kLong); });
  EXPECT_SENTENCE(load_memory(path, model, hash), "tail has shape [5] and type Long, expected at most 4");
  with([&](auto& all) { all.tensors["tail"] = at::zeros({4}); });
  EXPECT_SENTENCE(load_memory(path, model, hash), "tail has shape [4] and type Float");
  with([&](auto& all) { all.tensors["tail"] = at::full({4}, 256, at::kLong); });
  EXPECT_SENTENCE(load_memory(path, model, hash), "tail has token 256");
  with([&](auto& all) { all.metadata["history"] = "of another kind"; });
  EXPECT_SENTENCE(load_memory(path, model, hash), "which is no digest of the tokens before the last 4");
}

TEST(MemoryFile, AShortTailOfAConvolutionIsASentence) {
  const TemporaryFolder folder;
  const std::string path = folder / "text.mem", tail = "blocks.0.mixer0.tail";
  auto config = tiny_lm();
  config.layer.projection.conv_width = 4;
  const auto model = make_lm(config);
  const at::Tensor ids = random_ids(1, 20);
  LmStream stream(model);
  stream.read(span(ids));
  save_memory(path, stream, "x");
  auto file = io::read_safetensors(path);
  file.tensors.at(tail) = file.tensors.at(tail).narrow(1, 0, 2).clone();
  io::write_safetensors(path, file);
  EXPECT_SENTENCE(load_memory(path, model, "x"), "a convolution's tail is shorter than what it sees");
}

TEST(MemoryFile, FilesThatDoNotSayWhatWasReadGoOn) {
  for (const auto& [name, config] : tiny_lms()) {
    const TemporaryFolder folder;
    const auto model = make_lm(config);
    const at::Tensor text = random_ids(1, 21), more = random_ids(1, 13);
    LmStream stream(model);
    stream.read(span(text));
    save_memory(folder / "text.mem", stream, "x");
    auto file = io::read_safetensors(folder / "text.mem");
    for (const char* later : {"tail", "boundary_hidden"}) EXPECT_EQ(file.tensors.erase(later), 1u);
    file.metadata.erase("history");
    io::write_safetensors(folder / "old.mem", file);
    LmStream old = load_memory(folder / "old.mem", model, "x");
    EXPECT_EQ(old.forgettable(), 0);
    EXPECT_NE(old.memory().history.id(), stream.memory().history.id());
    EXPECT_TRUE(old.next_logits().equal(stream.next_logits())) << name;
    stream.read(span(more));
    old.read(span(more));
    EXPECT_TRUE(old.next_logits().equal(stream.next_logits())) << name;
    EXPECT_SENTENCE(read_memory_label(folder / "old.mem", *model, "x"), "does not say which tokens");
  }
}

}  // namespace
}  // namespace lact::models
