#include "lact/models/nvs/folder.h"

#include <filesystem>

#include "lact/base/options.h"
#include "lact/io/safetensors.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/nvs/presets.h"
#include "lact/models/nvs/weights.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/places.h"
#include "support/temporary_folder.h"
#include "support/tiny_nvs.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::forward_of;
using lact::testing::make_nvs;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_nvs;
using lact::testing::tiny_scene;

NvsConfig without_muon() {
  auto config = tiny_nvs();
  config.lact.memory.update.muon = false;
  return config;
}

TEST(NvsFolder, RemembersWhatItWasTrainedOn) {
  const TemporaryFolder folder;
  const auto model = make_nvs(tiny_nvs());
  save_nvs(folder / "model", *model);
  EXPECT_FALSE(trained_size(folder / "model"));
  EXPECT_EQ(read_nvs_training(folder / "model").frame, "");
  save_nvs(folder / "model", *model, at::kFloat, {io::ImageSize{64, 96}, "object"});
  EXPECT_EQ(trained_size(folder / "model"), (io::ImageSize{64, 96}));
  EXPECT_EQ(read_nvs_training(folder / "model").frame, "object");
  EXPECT_FALSE(trained_size(folder / "model/model.safetensors"));
  lact::testing::write_file(folder / "model/config.json", R"({"image_size": [64]})");
  EXPECT_SENTENCE(trained_size(folder / "model"), "image_size is [64], expected [height, width]");
}

TEST(NvsFolder, ComesBackTheSame) {
  for (const auto& config : {tiny_nvs(), tiny_nvs(MixerKind::full), tiny_nvs(MixerKind::deltanet),
                             tiny_nvs(MixerKind::mamba2), tiny_nvs(MixerKind::perceiver), without_muon()}) {
    const TemporaryFolder folder;
    const auto model = make_nvs(config);
    save_nvs(folder / "model", *model);
    const auto again = load_nvs(folder / "model");
    EXPECT_EQ(again->config(), config);
    EXPECT_EQ(fingerprint(*again), fingerprint(*model));
    const auto scene = tiny_scene(3, 8, 8);
    EXPECT_TRUE(forward_of(*again, scene, 1).equal(forward_of(*model, scene, 1)));
  }
}

TEST(NvsFolder, PointsOnRaysBeginWithoutEffect) {
  const TemporaryFolder folder;
  const auto model = make_nvs(tiny_nvs());
  save_nvs(folder / "model", *model);
  auto config = tiny_nvs();
  config.ray_points = {.count = 3, .octaves = 2};
  const auto begun = load_nvs_as(config, folder / "model");
  EXPECT_EQ(begun.model->config(), config);
  EXPECT_FALSE(begun.fresh_decoder);
  const auto scene = tiny_scene(3, 8, 8);
  EXPECT_LT(difference(forward_of(*begun.model, scene, 1), forward_of(*model, scene, 1)), 1e-5);
  save_nvs(folder / "points", *begun.model);
  EXPECT_SENTENCE(load_nvs_as(tiny_nvs(), folder / "points"), "and ray_points where it has none");
}

TEST(NvsFolder, Bfloat16TakesHalfTheSpace) {
  const TemporaryFolder folder;
  const auto model = make_nvs(tiny_nvs());
  save_nvs(folder / "wide", *model);
  save_nvs(folder / "narrow", *model, at::kBFloat16);
  const auto size = [&](const std::string& name) {
    return double(std::filesystem::file_size(folder / (name + "/model.safetensors")));
  };
  EXPECT_LT(size("narrow"), 0.6 * size("wide"));
  const auto again = load_nvs(folder / "narrow");
  EXPECT_EQ(again->parameters().front().scalar_type(), at::kFloat);
  const auto scene = tiny_scene(3, 8, 8);
  EXPECT_LT(difference(forward_of(*again, scene, 1), forward_of(*model, scene, 1)), 0.1);
  EXPECT_NE(fingerprint(*again), fingerprint(*model));
  EXPECT_SENTENCE(save_nvs(folder / "half", *model, at::kHalf), "float32 or bfloat16, not as Half");
}

TEST(NvsFolder, UsesTheAuthorsNamesWhereTheyExist) {
  const TemporaryFolder folder;
  save_nvs(folder / "theirs", *make_nvs(tiny_nvs()));
  EXPECT_EQ(io::read_tensor_folder(folder / "theirs").count("blocks.1.module_list.1.f.w0"), 1u);
  save_nvs(folder / "ours", *make_nvs(tiny_nvs(MixerKind::full)));
  EXPECT_EQ(io::read_tensor_folder(folder / "ours").count("block1.mixer1.core.q_norm.weight"), 1u);
}

TEST(NvsFolder, PresetsAreTheAuthorsModels) {
  for (const auto& config : {nvs_tiny(), nvs_small(), nvs_14_layers(), nvs_312m(), nvs_4x()}) {
    const auto theirs = to_authors(config);
    ASSERT_TRUE(theirs.has_value());
    NvsConfig back = translate(*theirs);
    back.deltanet = config.deltanet;  // not in use
    EXPECT_EQ(back, config);
  }
}

TEST(NvsFolder, TheTinyPresetIsSmallEnoughToShip) {
  int64_t numbers = 0;
  for (const auto& parameter : NvsModel(nvs_tiny()).parameters()) numbers += parameter.numel();
  EXPECT_EQ(numbers, cost(nvs_tiny()).total().parameters);
  EXPECT_LT(2 * numbers, 15'000'000);
}

TEST(NvsFolder, CostCountsTheParametersOfAllMixers) {
  for (const auto mixer : lact::testing::kNvsMixers) {
    int64_t numbers = 0;
    for (const auto& parameter : make_nvs(tiny_nvs(mixer))->parameters()) numbers += parameter.numel();
    EXPECT_EQ(numbers, cost(tiny_nvs(mixer), {2, {16, 16}}).total().parameters);
  }
}

// A checkpoint without a config: its sizes are those of its tensors.
TEST(NvsFolder, TheAuthorsFilesLoad) {
  const TemporaryFolder folder;
  const auto model = make_nvs(tiny_nvs());
  save_nvs(folder / "model", *model);
  const auto again = load_nvs(folder / "model/model.safetensors");
  EXPECT_EQ(again->config(), model->config());
  EXPECT_EQ(fingerprint(*again), fingerprint(*model));

  const auto golden = std::filesystem::path(testing::source_folder()) / "tests/golden/models/lact_nvs_tiny";
  const auto published = load_nvs((golden / "checkpoint.pt").string());
  EXPECT_EQ(fingerprint(*published), fingerprint(*load_nvs((golden / "model.safetensors").string())));
}

TEST(NvsFolder, MistakesAreSentences) {
  const TemporaryFolder folder;
  const auto model = make_nvs(tiny_nvs());
  EXPECT_SENTENCE(load_nvs(folder / "nothing"), "is not a model folder");
  save_nvs(folder / "model", *model);
  const std::string config = folder / "model/config.json", weights = folder / "model/model.safetensors";
  const std::string good = lact::testing::read_file(config);
  lact::testing::write_file(config, R"({"model_type": "lact_swiglu"})");
  EXPECT_SENTENCE(load_nvs(folder / "model"), "no view-synthesis model");
  lact::testing::write_file(config, R"({"model_type": "lact_nvs", "model": {"mixer": "half"}})");
  EXPECT_SENTENCE(load_nvs(folder / "model"), "one of lact, full");
  lact::testing::write_file(config, good);
  auto file = io::read_safetensors(weights);
  file.tensors.erase("input_linear.weight");
  io::write_safetensors(weights, file);
  EXPECT_SENTENCE(load_nvs(folder / "model"), "tensor input_linear.weight is missing");
  EXPECT_SENTENCE(load_nvs(weights), "no view-synthesis model");
  file.tensors["input_linear.weight"] = at::zeros({32, 7});
  io::write_safetensors(weights, file);
  EXPECT_SENTENCE(load_nvs(folder / "model"), "has shape [32, 7]");
}

}  // namespace
}  // namespace lact::models
