#include "lact/tasks/nvs/gaussian_scene.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "lact/data/views/pose.h"
#include "lact/io/gaussian_ply.h"
#include "lact/io/picture_sheet.h"
#include "lact/tasks/nvs/open_scene.h"
#include "support/ball_of_gaussians.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::tasks::nvs {
namespace {

using lact::testing::ball_of_gaussians;
using lact::testing::TemporaryFolder;

data::Camera odd_camera() { return data::tracer::random_cameras(2, 1, 21, 37)[0]; }

TEST(GaussianScene, RendersWhatSplattingGivesInAnySize) {
  const ops::Gaussians gaussians = ball_of_gaussians();
  GaussianSceneOptions options;
  options.background = {0.25, 0.5, 1};
  const GaussianScene scene(gaussians, "ball.ply", options);
  const data::Camera camera = odd_camera();
  ops::SplatOptions drawing;
  drawing.background = options.background;
  const at::Tensor direct = ops::splat(gaussians, splat_camera_of(camera), drawing).image.clamp(0, 1);
  EXPECT_TRUE(scene.picture(camera).equal(direct));
  EXPECT_TRUE(scene.render(camera).equal(io::to_bytes(direct)));
  EXPECT_EQ(scene.render(camera).sizes(), at::IntArrayRef({21, 37, 3}));
  EXPECT_EQ(scene.details(), "60 Gaussians, harmonics of degree 1");
}

TEST(GaussianScene, TheBackgroundIsWhiteUnlessAnotherIsAskedFor) {
  ops::Gaussians behind = ball_of_gaussians(2);
  data::Camera camera = odd_camera();
  for (int i = 0; i < 3; ++i) camera.camera_to_world[i][2] *= -1, camera.camera_to_world[i][0] *= -1;
  EXPECT_EQ(GaussianScene(behind, "a").picture(camera).min().item<float>(), 1);
}

TEST(GaussianScene, TheCameraIsTheOneOfTheViews) {
  const data::Camera camera = odd_camera();
  const ops::SplatCamera splat = splat_camera_of(camera);
  EXPECT_EQ(splat.height, 21);
  EXPECT_EQ(splat.width, 37);
  EXPECT_EQ(splat.cx, camera.cx);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(splat.centre()[i], camera.camera_to_world[i][3], 1e-12);
}

TEST(GaussianScene, WithoutPhotosARingLooksAtTheMedianWhateverIsLostInTheDistance) {
  ops::Gaussians gaussians = ball_of_gaussians(400);
  gaussians.means += at::tensor({5.F, -2.F, 1.F});
  gaussians.means.narrow(0, 0, 20) += 1e5;    // floaters
  gaussians.means.narrow(0, 20, 300) -= 1e3;  // that nobody sees
  gaussians.opacity_logits.narrow(0, 20, 300).fill_(-9);
  const GaussianScene scene(gaussians, "a");
  EXPECT_FALSE(scene.knows_photos());
  ASSERT_EQ(scene.cameras().size(), 12u);
  const data::Turntable found = data::turntable_around(scene.cameras());
  EXPECT_NEAR(found.center[0], 5, 0.3);
  EXPECT_NEAR(found.center[1], -2, 0.3);
  EXPECT_NEAR(found.center[2], 1, 0.3);
  EXPECT_GT(found.min_radius, 1.2);
  EXPECT_LT(found.min_radius, 5);
  EXPECT_NEAR(found.elevation, 20, 0.1);
}

TEST(GaussianScene, UpIsMinusYUnlessTheSceneLiesFlatAlongZ) {
  ops::Gaussians gaussians = ball_of_gaussians(300);
  gaussians.means.select(1, 1).mul_(0.3);
  EXPECT_EQ(upwards_of(gaussians), (data::Point{0, -1, 0}));
  gaussians.means.select(1, 2).mul_(0.1);
  EXPECT_EQ(upwards_of(gaussians), (data::Point{0, 0, 1}));
  EXPECT_EQ(turntable_around(gaussians, data::Point{1, 0, 0}).up, (data::Point{1, 0, 0}));
}

TEST(GaussianScene, OneGaussianCanBeLookedAt) {
  const GaussianScene scene(ball_of_gaussians(1), "a");
  EXPECT_LT(scene.picture(scene.cameras()[0]).min().item<float>(), 0.99);
}

TEST(GaussianScene, PhotosSayWhereToLookFromAndWhatIsUp) {
  const TemporaryFolder folder;
  const ops::Gaussians gaussians = ball_of_gaussians();
  const data::PosedImages photos = testing::photograph(gaussians, 3, 12, 16);
  testing::write_photos(folder / "photos", photos);
  io::write_gaussians(folder / "a.ply", gaussians);
  GaussianSceneOptions options;
  options.photos = folder / "photos";
  const GaussianScene scene = GaussianScene::open(folder / "a.ply", options);
  EXPECT_TRUE(scene.knows_photos());
  ASSERT_EQ(scene.cameras().size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(at::allclose(scene.picture(scene.cameras()[i]), photos.images[i], 0, 1e-4));
  options.up = data::Point{0, 0, 1};
  EXPECT_SENTENCE(GaussianScene::open(folder / "a.ply", options), "its photos tell what is up");
}

TEST(OpenScene, ReadsGaussiansAgainWhenAsked) {
  const TemporaryFolder folder;
  io::write_gaussians(folder / "a.PLY", ball_of_gaussians(2));
  const SceneReader read = scene_reader(folder / "a.PLY", {});
  EXPECT_EQ(read()->details(), "2 Gaussians, harmonics of degree 1");
  io::write_gaussians(folder / "a.PLY", ball_of_gaussians(3));
  EXPECT_EQ(read()->details(), "3 Gaussians, harmonics of degree 1");
  EXPECT_SENTENCE(scene_reader(folder / "none.fw", {}), "none.fw");
}

}  // namespace
}  // namespace lact::tasks::nvs
