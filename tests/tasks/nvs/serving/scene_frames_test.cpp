#include "lact/tasks/nvs/serving/scene_frames.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/data/views/preprocess.h"
#include "lact/models/nvs/folder.h"
#include "lact/tasks/nvs/session.h"
#include "support/errors.h"
#include "support/temporary_folder.h"
#include "support/tiny_nvs.h"

namespace lact::tasks::nvs {
namespace {

using lact::testing::make_nvs;
using lact::testing::scene_of_noise;
using lact::testing::tiny_nvs;

TEST(SceneFrames, DescribesTheScene) {
  const auto model = make_nvs(tiny_nvs());
  models::NvsScene scene = scene_of_noise(*model);
  scene.scale = 0.5;
  const at::Tensor poses = scene.camera_to_world;
  const Session session(model, std::move(scene), "toy.fw");
  const SceneDescription description = SceneFrames(session).describe();
  EXPECT_EQ(description.name, "toy.fw");
  EXPECT_EQ(description.details, "3 input views, 2 layers of width 32");
  EXPECT_EQ(description.size_multiple, 4);
  EXPECT_EQ(description.full_side, 12);
  ASSERT_EQ(description.cameras.size(), 3u);
  EXPECT_EQ(description.cameras[1].height, 8);
  EXPECT_TRUE(data::camera_to_world_of(description.cameras).equal(poses));
  EXPECT_EQ(session.frame().scale, 0.5);
}

TEST(SceneFrames, AFrameAtRestIsAsLargeAsAskedFor) {
  const auto model = make_nvs(tiny_nvs());
  const Session session(model, scene_of_noise(*model), "toy.fw");
  SceneFrames frames(session, 20);
  EXPECT_EQ(frames.describe().full_side, 20);
  EXPECT_TRUE(frames.render(session.cameras()[1]).equal(session.render(session.cameras()[1])));
  EXPECT_SENTENCE(SceneFrames(session, 30), "not divisible by the patch of 4");
}

TEST(SceneFileFrames, AFileThatIsReplacedIsShown) {
  lact::testing::TemporaryFolder folder;
  const std::string file = folder / "toy.fw";
  Loaded nvs;
  nvs.model = make_nvs(tiny_nvs());
  nvs.fingerprint = models::fingerprint(*nvs.model);
  models::NvsScene scene = scene_of_noise(*nvs.model);
  models::save_scene(file, scene, nvs.fingerprint);
  SceneFileFrames frames([&] { return std::make_unique<Session>(Session::open(nvs, file)); }, file, 20);
  EXPECT_FALSE(frames.refresh());
  const data::Camera camera = frames.describe().cameras[1];
  const at::Tensor before = frames.render(camera);

  const auto other = lact::testing::tiny_scene(2, 8, 12);
  scene.state = nvs.model->reconstruct(other.list(), other.intrinsics, other.camera_to_world);
  scene.intrinsics = other.intrinsics;
  scene.camera_to_world = other.camera_to_world;
  scene.sizes.resize(2);
  models::save_scene(file, scene, nvs.fingerprint);
  EXPECT_TRUE(frames.refresh());
  EXPECT_FALSE(frames.refresh());
  EXPECT_EQ(frames.describe().cameras.size(), 2u);
  EXPECT_EQ(frames.describe().full_side, 20);
  EXPECT_FALSE(frames.render(camera).equal(before));

  // What cannot be read, or is gone, leaves what is shown.
  const at::Tensor shown = frames.render(camera);
  lact::testing::write_file(file + ".new", "nonsense");
  std::filesystem::rename(file + ".new", file);
  EXPECT_FALSE(frames.refresh());
  std::filesystem::remove(file);
  EXPECT_FALSE(frames.refresh());
  EXPECT_TRUE(frames.render(camera).equal(shown));
}

}  // namespace
}  // namespace lact::tasks::nvs
