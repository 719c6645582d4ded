// A long text or a large scene that several ranks, threads here, read together leaves the memory that one
// would have.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/models/lm/stream.h"
#include "lact/models/nvs/model.h"
#include "support/errors.h"

namespace lact::models {
namespace {

using parallel::Mesh;
using parallel::World;

/// All tensors of a state, one after the other.
std::vector<at::Tensor> tensors_of(State& state) {
  struct Collector : StateVisitor {
    std::vector<at::Tensor> all;
    void tensor(const std::string&, at::Tensor& value, int64_t) override { all.push_back(value.clone()); }
    void number(const std::string&, int64_t& value) override { all.push_back(at::tensor(value)); }
  } collector;
  state.visit(collector, "");
  return collector.all;
}

void expect_same(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected,
                 double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].sizes(), expected[i].sizes()) << i;
    const auto wide = [&](const at::Tensor& x) { return x.to(at::kDouble); };
    EXPECT_TRUE(at::allclose(wide(found[i]), wide(expected[i]), tolerance, tolerance)) << i;
  }
}

LmConfig text_model(const MixerPattern& mixer) {
  LmConfig config;
  config.vocabulary_size = 60;
  config.model_dim = 24;
  config.num_layers = 2;
  config.mixer = mixer;
  config.layer.memory.num_heads = 2;
  config.layer.memory.rope_heads = 0;
  config.layer.memory.update.momentum = true;
  config.layer.attention.num_heads = 2;
  config.layer.gla.num_heads = config.layer.deltanet.num_heads = config.layer.mamba2.num_heads = 2;
  config.layer.projection.conv_width = 3;
  config.feed_forward.hidden_dim = 32;
  config.chunk_size = 12;
  config.window_size = 17;
  return config;
}

template <class Model, class Config>
std::shared_ptr<Model> made(const Config& config) {
  at::manual_seed(11);
  auto model = std::make_shared<Model>(config);
  model->to(at::kDouble);
  model->set_compute_type(at::kDouble);
  return model;
}

class SharedText : public ::testing::TestWithParam<MixerKind> {};

TEST_P(SharedText, LeavesTheMemoryOfOneRank) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  const LmConfig config = text_model(GetParam());
  const at::Tensor ids = at::randint(60, {100}, at::kLong);
  // To the end of a chunk, whole chunks, and what is left over.
  const auto read = [&](LmStream& stream) {
    const auto* tokens = ids.data_ptr<int64_t>();
    for (const auto& [begin, end] : {std::pair(0, 5), std::pair(5, 12), std::pair(12, 100)})
      stream.read({tokens + begin, size_t(end - begin)});
    return stream.next_logits();
  };
  LmStream alone(made<LanguageModel>(config));
  const at::Tensor expected = read(alone);
  const auto memory = tensors_of(alone.state());
  for (const int64_t ranks : {2, 3}) {
    std::vector<std::shared_ptr<LanguageModel>> copies;
    for (int64_t i = 0; i < ranks; ++i) copies.push_back(made<LanguageModel>(config));
    parallel::run_as_threads({1, ranks, 1}, [&](const World& world) {
      const auto& model = copies[size_t(world.all.rank())];
      model->set_world(world);
      LmStream stream(model);
      const at::Tensor found = read(stream);
      EXPECT_TRUE(at::allclose(found, expected, 1e-10, 1e-10));
      expect_same(tensors_of(stream.state()), memory, 1e-10);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Mixers, SharedText,
                         ::testing::Values(MixerKind::lact, MixerKind::full, MixerKind::window,
                                           MixerKind::gla, MixerKind::deltanet, MixerKind::mamba2));

TEST(SharedText, IsSharedOutByItsTokensAlone) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  const LmConfig config = text_model(MixerKind::lact);
  std::vector<std::shared_ptr<LanguageModel>> copies = {made<LanguageModel>(config),
                                                        made<LanguageModel>(config)};
  parallel::run_as_threads({1, 1, 2}, [&](const World& world) {
    const auto& model = copies[size_t(world.all.rank())];
    model->set_world(world);
    LmStream stream(model);
    const std::vector<int64_t> tokens(12, 1);
    EXPECT_SENTENCE(stream.read(tokens), "by its tokens alone");
  });
}

NvsConfig scene_model(MixerKind mixer) {
  NvsConfig config;
  config.model_dim = 16;
  config.num_layers = 2;
  config.attention = nvs_attention(2);
  config.mixer = mixer;
  config.lact = nvs_memory(1);
  config.lact.memory.num_heads = 2;
  config.perceiver.registers = 6;
  config.feed_forward.hidden_dim = 32;
  return config;
}

class SharedScene : public ::testing::TestWithParam<MixerKind> {};

/// Several ranks read what one rank reads.
void expect_shared_scene(const NvsConfig& config) {
  at::manual_seed(7);
  std::vector<at::Tensor> images;
  for (int i = 0; i < 5; ++i) images.push_back(at::rand({3, 16, i == 3 ? 24 : 16}, at::kDouble));
  const at::Tensor intrinsics = at::tensor({12.0, 12.0, 8.0, 8.0}, at::kDouble).expand({5, 4}).contiguous();
  const at::Tensor poses = at::eye(4, at::kDouble) + 0.1 * at::randn({5, 4, 4}, at::kDouble);
  ReconstructOptions options;
  options.piece_tokens = 8;
  const auto memory = tensors_of(*made<NvsModel>(config)->reconstruct(images, intrinsics, poses, options));
  for (const int64_t ranks : {2, 3}) {
    std::vector<std::shared_ptr<NvsModel>> copies;
    for (int64_t i = 0; i < ranks; ++i) copies.push_back(made<NvsModel>(config));
    parallel::run_as_threads({1, ranks, 1}, [&](const World& world) {
      const auto& model = copies[size_t(world.all.rank())];
      model->set_world(world);
      expect_same(tensors_of(*model->reconstruct(images, intrinsics, poses, options)), memory, 1e-10);
    });
  }
}

TEST_P(SharedScene, LeavesTheMemoryOfOneRank) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  expect_shared_scene(scene_model(GetParam()));
}

TEST_P(SharedScene, GivesTheGaussiansOfOneRank) {
  if (!parallel::can_join()) GTEST_SKIP() << "this build joins no ranks";
  NvsConfig config = scene_model(GetParam());
  config.head = NvsHead::gaussians;
  config.gaussians.virtual_views = 2;
  expect_shared_scene(config);
  config.gaussians.virtual_views = 0;
  if (GetParam() != MixerKind::perceiver) expect_shared_scene(config);
}

INSTANTIATE_TEST_SUITE_P(Mixers, SharedScene,
                         ::testing::Values(MixerKind::lact, MixerKind::full, MixerKind::perceiver));

}  // namespace
}  // namespace lact::models
