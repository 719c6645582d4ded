#include "lact/data/views/normalize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lact/data/views/camera_path.h"
#include "support/errors.h"

namespace lact::data {
namespace {

Camera camera_at(const Pose& pose) { return {8, 8, 10, 10, 4, 4, pose}; }

TEST(Normalize, TwoCamerasByHand) {
  // Parallel, looking along x with y down, at z = 1 and z = 5: the mean stands at z = 3.
  Pose pose = {{{0, 0, 1, 7}, {0, 1, 0, 2}, {-1, 0, 0, 1}, {0, 0, 0, 1}}};
  std::vector<Camera> cameras = {camera_at(pose), camera_at(pose)};
  cameras[1].camera_to_world[2][3] = 5;
  const SceneFrame frame = mean_pose_frame(cameras);
  EXPECT_NEAR(frame.scale, 0.5, 1e-12);
  const auto moved = to_scene(frame, cameras);
  // Their right is -z, so the first stands at the right.
  const Pose expected = {{{1, 0, 0, 1}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_NEAR(moved[0].camera_to_world[i][j], expected[i][j], 1e-12);
  EXPECT_NEAR(moved[1].camera_to_world[0][3], -1, 1e-12);
  EXPECT_EQ(moved[1].fx, 10);
}

TEST(Normalize, DoesNotDependOnTheWorldsFrame) {
  std::vector<Camera> cameras = turntable_cameras({.num_views = 5, .elevation = 40});
  cameras.pop_back();
  const auto expected = to_scene(mean_pose_frame(cameras), cameras);
  const SceneFrame other{look_at({1, -2, 5}, {0, 1, 0}, {0.2, 0.1, 1}), 7};
  const auto elsewhere = to_scene(other, cameras);
  const auto found = to_scene(mean_pose_frame(elsewhere), elsewhere);
  for (size_t view = 0; view < cameras.size(); ++view)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j)
        EXPECT_NEAR(found[view].camera_to_world[i][j], expected[view].camera_to_world[i][j], 1e-9);
}

TEST(Normalize, WorldAndSceneAreInverse) {
  const auto cameras = turntable_cameras({.num_views = 7});
  const SceneFrame frame = mean_pose_frame({cameras[0], cameras[1], cameras[2]});
  for (const Camera& camera : cameras) {
    const Camera back = to_world(frame, to_scene(frame, camera));
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        EXPECT_NEAR(back.camera_to_world[i][j], camera.camera_to_world[i][j], 1e-12);
  }
}

TEST(Normalize, AFullRingTakesTheAxesOfItsFirstCamera) {
  const auto cameras =
      turntable_cameras({.num_views = 8, .min_radius = 2, .max_radius = 2, .elevation = 0, .swing = 0});
  const auto moved = to_scene(mean_pose_frame(cameras), cameras);
  double extent = 0;
  for (const Camera& camera : moved) {
    check_pose(camera.camera_to_world, "moved");
    for (const double coordinate : column(camera.camera_to_world, 3))
      extent = std::max(extent, std::abs(coordinate));
  }
  EXPECT_NEAR(extent, 1, 1e-9);
  EXPECT_NEAR(moved[0].camera_to_world[2][2], 1, 1e-9);
}

TEST(Normalize, OneCameraIsNotStretched) {
  const auto cameras = std::vector<Camera>{camera_at(look_at({100, 20, 3}, {0, 0, 0}, {0, 0, 1}))};
  const SceneFrame frame = mean_pose_frame(cameras);
  EXPECT_EQ(frame.scale, 1);
  EXPECT_NEAR(length(column(to_scene(frame, cameras[0]).camera_to_world, 3)), 0, 1e-9);
  EXPECT_SENTENCE(mean_pose_frame({}), "a scene without cameras");
}

}  // namespace
}  // namespace lact::data
