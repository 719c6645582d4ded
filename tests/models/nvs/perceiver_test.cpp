// The Perceiver as the memory of a view-synthesis model; what it shares with the others is in model_test.
#include <filesystem>

#include "lact/io/safetensors.h"
#include "lact/models/nvs/presets.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/temporary_folder.h"
#include "support/tiny_nvs.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::forward_of;
using lact::testing::make_nvs;
using lact::testing::make_precise_nvs;
using lact::testing::tiny_nvs;
using lact::testing::tiny_scene;

NvsConfig tiny_perceiver(int64_t layers) {
  NvsConfig config = tiny_nvs(MixerKind::perceiver);
  config.num_layers = layers;
  return config;
}

int64_t num_parameters_of(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

// Paper table 2. Half of the blocks have 24 M² (attention, register attention and two feed-forwards), half
// 16 M²: 480 M² in all, and the registers.
TEST(NvsPerceiver, HasThePapersNumberOfParameters) {
  NvsConfig config = nvs_312m();
  config.mixer = MixerKind::perceiver;
  const CostPart total = cost(config).total();
  EXPECT_NEAR(double(total.parameters), 287e6, 0.5e6);
  EXPECT_EQ(total.state, 4096 * 768);
}

TEST(NvsPerceiver, CostCountsWhatTheModelHas) {
  for (const int64_t layers : {2, 3, 4}) {
    NvsConfig config = tiny_perceiver(layers);
    config.attention.projection.qkv_bias = layers == 3;
    EXPECT_EQ(cost(config).total().parameters, num_parameters_of(NvsModel(config)));
  }
}

TEST(NvsPerceiver, AnyNumberOfBlocksReadsAndRendersAsItTrains) {
  for (const int64_t layers : {2, 3, 4}) {
    const auto model = make_precise_nvs(tiny_perceiver(layers));
    const auto scene = tiny_scene(4, 8, 8, at::kDouble);
    const at::Tensor trained = forward_of(*model, scene, 1);
    const auto inputs = scene.part(at::arange(3));
    const auto state =
        model->reconstruct(inputs.list(), inputs.intrinsics, inputs.camera_to_world, {.piece_tokens = 4});
    ASSERT_EQ(state->memories.size(), 1u);
    const at::Tensor view = model->render(*state, scene.intrinsics[3], scene.camera_to_world[3], 8, 8);
    EXPECT_LT(difference(view.unsqueeze(0), trained), 1e-9) << layers;
  }
}

TEST(NvsPerceiver, ASceneFileHoldsTheRegistersAlone) {
  const lact::testing::TemporaryFolder folder;
  const auto model = make_nvs(tiny_perceiver(4));
  save_scene(folder / "scene.fw", lact::testing::scene_of_noise(*model), "x");
  const auto file = io::read_safetensors(folder / "scene.fw");
  for (const auto& [name, tensor] : file.tensors)
    EXPECT_TRUE(name == "registers" || name.starts_with("cameras.") || name.starts_with("frame.")) << name;
  EXPECT_EQ(file.tensors.at("registers").sizes(), at::IntArrayRef({1, 5, 32}));
}

TEST(NvsPerceiver, GradientsAreThoseOfFiniteDifferences) {
  const auto model = make_precise_nvs(tiny_perceiver(2));
  const auto scene = tiny_scene(3, 4, 8, at::kDouble);
  const at::Tensor rays = scene.rays().unsqueeze(0);
  const auto run = [&](const std::vector<at::Tensor>& in) {
    return model->forward(in[0], rays.narrow(1, 0, 2), in[1]);
  };
  lact::testing::expect_gradients(
      run, {scene.images.narrow(0, 0, 2).unsqueeze(0), rays.narrow(1, 2, 1).contiguous()}, 1e-5);
}

TEST(NvsPerceiver, MistakesAreSentences) {
  EXPECT_SENTENCE(NvsModel model(tiny_perceiver(1)), "num_layers is 1, but a perceiver needs");
  NvsConfig config = tiny_perceiver(2);
  config.perceiver.registers = 0;
  EXPECT_SENTENCE(NvsModel model(config), "perceiver.registers is 0");
}

}  // namespace
}  // namespace lact::models
