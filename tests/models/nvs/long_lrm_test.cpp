#include "lact/models/nvs/long_lrm.h"

#include <gmock/gmock.h>

#include "lact/io/tensor_folder.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/presets.h"
#include "lact/nn/init.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/temporary_folder.h"
#include "support/tiny_nvs.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_scene;
using lact::testing::TinyScene;

NvsConfig small_config() {
  NvsConfig config = nvs_long_lrm_tiny();
  config.patch_size = 4;
  config.model_dim = 16;
  config.num_layers = 4;
  config.mixer = MixerPattern::parse("1 mamba2_block : 1 full");
  config.feed_forward.hidden_dim = 32;
  config.long_lrm.merge_at = 2;
  config.long_lrm.merged_dim = 32;
  config.long_lrm.mamba2.state_dim = 8;
  config.long_lrm.mamba2.head_dim = 8;
  config.gaussians.scale_bias = -2;
  config.gaussians.opacity_bias = 0;
  return config;
}

std::shared_ptr<LongLrm> small_model(const NvsConfig& config = small_config()) {
  at::manual_seed(4);
  auto model = std::make_shared<LongLrm>(config);
  at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters())
    if (item.key() == "decoder.weight" || item.key().ends_with(".output.weight"))
      item.value().normal_(0, 0.3);
  return model;
}

std::shared_ptr<LongLrm> precise_model() {
  auto model = small_model();
  model->to(at::kDouble);
  model->set_compute_type(at::kDouble);
  return model;
}

ops::Gaussians gaussians_of(LongLrm& model, const TinyScene& scene) {
  return model.gaussians(scene.images.unsqueeze(0), scene.intrinsics.unsqueeze(0),
                         scene.camera_to_world.unsqueeze(0));
}

int64_t num_parameters(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

TEST(LongLrm, EveryPixelBecomesAGaussian) {
  const auto model = small_model();
  const auto all = gaussians_of(*model, tiny_scene(3, 8, 16));
  EXPECT_EQ(all.means.sizes(), at::IntArrayRef({1, 3 * 8 * 16, 3}));
  EXPECT_EQ(all.harmonics.sizes(), at::IntArrayRef({1, 3 * 8 * 16, 1, 3}));
  EXPECT_EQ(model->config().decoded_patch(), 8);
}

TEST(LongLrm, CostCountsTheParameters) {
  auto unmerged = small_config();
  unmerged.long_lrm.merge_at = 0;
  unmerged.long_lrm.global_tokens = 0;
  unmerged.long_lrm.norm_bias = false;
  const nn::SkipInit skip;  // numbers of parameters need no values
  for (const NvsConfig& config : {small_config(), unmerged, nvs_long_lrm_tiny(), nvs_long_lrm()})
    EXPECT_EQ(num_parameters(LongLrm(config)), cost(config, {2, {64, 64}}).total().parameters);
}

TEST(LongLrm, ThePublishedSizesAreThePublishedSizes) {
  const NvsConfig config = nvs_long_lrm();
  EXPECT_EQ(config.input_channels(), 576);
  EXPECT_EQ(config.output_channels(), 59 * 256);
  const auto blocks = cost(config).blocks;
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[0].count, 7);
  EXPECT_EQ(blocks[1].count, 1);
  EXPECT_EQ(blocks[2].count, 14);
  EXPECT_EQ(blocks[3].count, 2);
}

TEST(LongLrm, EveryViewReachesTheGaussiansOfAllOthers) {
  const auto model = precise_model();
  const auto scene = tiny_scene(3, 8, 8, at::kDouble);
  const at::Tensor before = gaussians_of(*model, scene).opacity_logits[0].detach().view({3, 64});
  for (int64_t changed = 0; changed < 3; ++changed) {
    auto other = scene;
    other.images = scene.images.clone();
    other.images[changed].fill_(0.2);
    const at::Tensor after = gaussians_of(*model, other).opacity_logits[0].detach().view({3, 64});
    EXPECT_GT(std::get<0>((after - before).abs().max(1)).min().item<double>(), 1e-9) << changed;
  }
}

TEST(LongLrm, ReconstructAndRenderIsTheTrainingPrediction) {
  const auto model = precise_model();
  const auto scene = tiny_scene(4, 8, 8, at::kDouble);
  const SceneViews views = {scene.images.narrow(0, 0, 3).unsqueeze(0), scene.intrinsics.unsqueeze(0),
                            scene.camera_to_world.unsqueeze(0)};
  const at::Tensor trained = model->predict(views).views[0][0].detach().clamp(0, 1);
  const auto inputs = scene.part(at::arange(3));
  int64_t done = 0;
  ReconstructOptions options;
  options.on_piece = [&](int64_t now, int64_t total) { done = now == ++done && total == 4 ? now : -100; };
  const auto state = model->reconstruct(inputs.list(), inputs.intrinsics, inputs.camera_to_world, options);
  EXPECT_EQ(done, 4);
  EXPECT_EQ(state->gaussians->size(), 3 * 64);
  const at::Tensor drawn = model->render(*state, scene.intrinsics[3], scene.camera_to_world[3], 8, 8);
  EXPECT_LT(difference(drawn, trained), 1e-9);
}

TEST(LongLrm, RecomputeChangesNoGradient) {
  const auto scene = tiny_scene(3, 8, 8, at::kDouble);
  const SceneViews views = {scene.images.narrow(0, 0, 2).unsqueeze(0), scene.intrinsics.unsqueeze(0),
                            scene.camera_to_world.unsqueeze(0)};
  const auto gradients = [&](nn::Recompute what) {
    const auto model = precise_model();
    model->set_recompute(what);
    model->predict(views).views.square().mean().backward();
    std::vector<at::Tensor> all;
    for (const auto& item : model->named_parameters()) {
      EXPECT_TRUE(item.value().grad().defined()) << item.key();
      all.push_back(item.value().grad().flatten());
    }
    return at::cat(all);
  };
  const at::Tensor kept = gradients(nn::Recompute::none);
  for (const auto what : {nn::Recompute::cheap, nn::Recompute::blocks})
    EXPECT_LT(difference(gradients(what), kept), 1e-9);
}

TEST(LongLrm, AFolderHasThePublishedNames) {
  const TemporaryFolder folder;
  const auto model = small_model();
  EXPECT_TRUE(covers(long_lrm_names(model->config()), *model));
  save_nvs(folder / "model", *model);
  const auto tensors = io::read_tensor_folder(folder / "model");
  EXPECT_EQ(tensors.at("global_token_init").sizes(), at::IntArrayRef({1, 2, 16}));
  EXPECT_EQ(tensors.at("processor.merge_blocks.0.weight").sizes(), at::IntArrayRef({32, 1, 2, 2}));
  EXPECT_EQ(tensors.at("processor.resize_blocks.0.bias").sizes(), at::IntArrayRef({32}));
  EXPECT_EQ(tensors.at("processor.blocks.0.mamba.mamba_scans.1.A_log").sizes(), at::IntArrayRef({4}));
  EXPECT_EQ(tensors.at("processor.blocks.3.attn.qkv.weight").sizes(), at::IntArrayRef({96, 32}));
  EXPECT_EQ(tensors.at("processor.blocks.1.mlp.fc1.weight").sizes(), at::IntArrayRef({32, 16}));
  EXPECT_EQ(tensors.at("tokenDecoder.1.weight").sizes(), at::IntArrayRef({14 * 64, 32}));
  const auto again = load_nvs(folder / "model");
  EXPECT_EQ(again->config(), model->config());
  EXPECT_EQ(fingerprint(*again), fingerprint(*model));
  load_nvs_weights(*again, folder / "model/model.safetensors");
  auto later = model->config();
  later.long_lrm.global_tokens = 1;
  EXPECT_NE(fingerprint(*small_model(later)), fingerprint(*model));
}

TEST(LongLrm, MistakesAreSentences) {
  const auto model = small_model();
  const auto sentence = [&](const TinyScene& scene) {
    return lact::testing::sentence_of<Error>([&] { gaussians_of(*model, scene); });
  };
  EXPECT_NE(sentence(tiny_scene(2, 12, 16)).find("12"),
            std::string::npos);  // three patches of 4: one is left over
  const auto one = tiny_scene(1, 8, 8), other = tiny_scene(1, 8, 16);
  EXPECT_SENTENCE(model->reconstruct({one.images[0], other.images[0]}, one.intrinsics.repeat({2, 1}),
                                     one.camera_to_world.repeat({2, 1, 1})),
                  "but Long-LRM reads images of one size");
  auto state = model->reconstruct(one.list(), one.intrinsics, one.camera_to_world);
  EXPECT_SENTENCE(model->read_more(*state, {{8, 8}}, {}), "more views need a reading of all of them");
  const auto refused = [](auto change) {
    NvsConfig config = small_config();
    change(config);
    return lact::testing::sentence_of<Error>([&] { config.check(); });
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refused([](NvsConfig& config) { config.head = NvsHead::image; }), HasSubstr("head is image"));
  EXPECT_THAT(refused([](NvsConfig& config) { config.long_lrm.merged_dim = 40; }),
              HasSubstr("long_lrm.merged_dim is 40, expected a multiple of model_dim 16"));
  EXPECT_THAT(refused([](NvsConfig& config) { config.long_lrm.merge_at = 4; }),
              HasSubstr("long_lrm.merge_at is 4, expected less than the 4 layers"));
  EXPECT_THAT(refused([](NvsConfig& config) { config.long_lrm.mamba2.head_dim = 5; }),
              HasSubstr("long_lrm.mamba2.head_dim is 5"));
  EXPECT_THAT(
      refused([](NvsConfig& config) { config.mixer = MixerPattern::parse("1 mamba2_block : 1 lact"); }),
      HasSubstr("Long-LRM's layers are mamba2_block and full"));
}

}  // namespace
}  // namespace lact::models
