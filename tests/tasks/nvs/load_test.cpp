#include "lact/tasks/nvs/load.h"

#include <filesystem>

#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/scene_file.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_nvs.h"

namespace lact::tasks::nvs {
namespace {

using lact::testing::make_nvs;
using lact::testing::scene_of_noise;
using lact::testing::TemporaryFolder;
using lact::testing::tiny_nvs;

void save_some_scene(const std::string& file, const Loaded& nvs, const std::string& model_path) {
  models::NvsScene scene = scene_of_noise(*nvs.model);
  scene.model_path = model_path;
  models::save_scene(file, scene, nvs.fingerprint);
}

TEST(LoadNvs, TheModelOfASceneIsFoundWhereTheFileSaysItWas) {
  const TemporaryFolder folder;
  models::save_nvs(folder / "model", *make_nvs(tiny_nvs()));
  models::save_nvs(folder / "other", *make_nvs(tiny_nvs(), /*seed=*/4));
  const Loaded nvs = load(folder / "model"), other = load(folder / "other");
  EXPECT_FALSE(nvs.model->is_training());
  EXPECT_NE(nvs.fingerprint, other.fingerprint);
  save_some_scene(folder / "scene.fw", nvs, folder / "model");
  EXPECT_EQ(load_for_scene(folder / "scene.fw", "").fingerprint, nvs.fingerprint);
  // One that is named is taken as it is; whether it fits is said when the scene is read.
  EXPECT_EQ(load_for_scene(folder / "scene.fw", folder / "other").path, folder / "other");

  save_some_scene(folder / "moved.fw", nvs, folder / "other");
  EXPECT_SENTENCE(load_for_scene(folder / "moved.fw", ""), "another one is at " + (folder / "other"));
  std::filesystem::remove_all(folder / "model");
  EXPECT_SENTENCE(load_for_scene(folder / "scene.fw", ""), "it was at " + (folder / "model"));
}

TEST(LoadNvs, SaysWhatTheModelWasTrainedOn) {
  const TemporaryFolder folder;
  const auto model = make_nvs(tiny_nvs());
  models::save_nvs(folder / "trained", *model, at::kFloat,
                   {.image_size = io::ImageSize{8, 12}, .frame = "object"});
  const Loaded trained = load(folder / "trained");
  EXPECT_EQ(trained_size(trained), (io::ImageSize{8, 12}));
  EXPECT_EQ(trained_frame(trained), data::FrameChoice::object);
  models::save_nvs(folder / "silent", *model);
  const Loaded silent = load(folder / "silent");
  EXPECT_EQ(trained_size(silent), (io::ImageSize{256, 256}));
  EXPECT_EQ(trained_frame(silent), data::FrameChoice::mean_pose);
}

}  // namespace
}  // namespace lact::tasks::nvs
