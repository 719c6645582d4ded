#include "lact/data/views/camera_path.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lact/data/views/tracer/random_camera.h"
#include "support/errors.h"

namespace lact::data {
namespace {

Point seen_from(const Camera& camera, const Point& point) {
  const Pose world_to_camera = inverse(camera.camera_to_world);
  Point result = column(world_to_camera, 3);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) result[i] += world_to_camera[i][j] * point[j];
  return result;
}

TEST(CameraPath, ATurntableByHand) {
  const auto cameras = turntable_cameras({.num_views = 4,
                                          .width = 100,
                                          .height = 80,
                                          .horizontal_view = 90,
                                          .min_radius = 2,
                                          .max_radius = 2,
                                          .elevation = 0,
                                          .swing = 0});
  ASSERT_EQ(cameras.size(), 4u);
  EXPECT_NEAR(cameras[0].fx, 50, 1e-9);
  EXPECT_NEAR(cameras[0].cy, 40, 1e-9);
  // From (0, 2, 0) to the origin, z upwards: right is -x, down is -z, forward is -y.
  const Pose expected = {{{-1, 0, 0, 0}, {0, 0, -1, 2}, {0, -1, 0, 0}, {0, 0, 0, 1}}};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_NEAR(cameras[1].camera_to_world[i][j], expected[i][j], 1e-12);
}

TEST(CameraPath, EveryViewOfATurntableLooksAtTheCentre) {
  const Turntable turntable{.num_views = 9, .center = {1, 2, 3}, .up = {0, -1, 0.2}};
  for (const Camera& camera : turntable_cameras(turntable)) {
    check_pose(camera.camera_to_world, "camera");
    const Point center = seen_from(camera, turntable.center);
    EXPECT_NEAR(center[0], 0, 1e-9);
    EXPECT_NEAR(center[1], 0, 1e-9);
    EXPECT_GE(center[2], 1.7 - 1e-9);
    EXPECT_LE(center[2], 3 + 1e-9);
    EXPECT_LT(seen_from(camera, sum(turntable.center, turntable.up))[1], 0) << "up is not upwards";
    EXPECT_NEAR(seen_from(camera, sum(turntable.center, turntable.up))[0], 0, 1e-9);
  }
}

TEST(CameraPath, ATurntableIsFoundBackFromItsViews) {
  const Turntable original{.num_views = 12,
                           .horizontal_view = 40,
                           .min_radius = 5,
                           .max_radius = 5,
                           .elevation = 25,
                           .swing = 0,
                           .center = {1, 2, 3},
                           .up = {0, 1, 0}};
  const Turntable found = turntable_around(turntable_cameras(original));
  EXPECT_NEAR(length(difference(found.center, original.center)), 0, 0.02);
  EXPECT_NEAR(found.min_radius, 5, 0.02);
  EXPECT_EQ(found.min_radius, found.max_radius);
  EXPECT_NEAR(found.elevation, 25, 0.3);
  EXPECT_NEAR(found.horizontal_view, 40, 1e-9);
  EXPECT_NEAR(dot(found.up, original.up), 1, 1e-9);
}

TEST(CameraPath, ATurntableAroundOneViewStartsFromAPointAhead) {
  const Camera camera{8, 8, 10, 10, 4, 4, look_at({0, -3, 1}, {0, 0, 0}, {0, 0, 1})};
  const Turntable found = turntable_around({camera});
  EXPECT_GT(seen_from(camera, found.center)[2], 0);
  for (const Camera& view : turntable_cameras(found)) check_pose(view.camera_to_world, "view");
}

TEST(CameraPath, TheMiddleBetweenTwoViews) {
  Camera first{8, 8, 10, 10, 4, 4, look_at({2, 0, 0}, {0, 0, 0}, {0, 0, 1})};
  Camera second{8, 8, 20, 30, 5, 6, look_at({0, 2, 0}, {0, 0, 0}, {0, 0, 1})};
  const auto path = interpolate_cameras({first, second}, 1);
  ASSERT_EQ(path.size(), 3u);
  EXPECT_EQ(path[0].camera_to_world, first.camera_to_world);
  EXPECT_EQ(path[2].camera_to_world, second.camera_to_world);
  EXPECT_EQ(path[1].fx, 15);
  EXPECT_EQ(path[1].cy, 5);
  check_pose(path[1].camera_to_world, "middle");
  const double half = std::sqrt(0.5);
  EXPECT_NEAR(path[1].camera_to_world[0][3], 1, 1e-12);
  EXPECT_NEAR(path[1].camera_to_world[0][2], -half, 1e-12);
  EXPECT_NEAR(path[1].camera_to_world[1][2], -half, 1e-12);
  const auto linear = interpolate_cameras({first, second}, 1, Interpolation::linear);
  EXPECT_NEAR(linear[1].camera_to_world[0][2], -0.5, 1e-12);
}

TEST(CameraPath, MistakesAreASentence) {
  EXPECT_SENTENCE(turntable_cameras({.num_views = 0}), "a turntable has 0 views");
  EXPECT_SENTENCE(turntable_cameras({.horizontal_view = 180}), "the field of view is 180 degrees");
  EXPECT_SENTENCE(turntable_cameras({.min_radius = 0}), "the distances of a turntable are 0 to 3");
  EXPECT_SENTENCE(turntable_cameras({.up = {0, 0, 0}}), "the upward direction is");
  EXPECT_SENTENCE(turntable_around({}), "needs at least one camera");
  EXPECT_SENTENCE(interpolate_cameras({}, 2), "there are no cameras");
  const Camera small{8, 8, 10, 10, 4, 4, identity_pose()}, large{16, 8, 10, 10, 4, 4, identity_pose()};
  EXPECT_SENTENCE(interpolate_cameras({small, large}, 2),
                  "are for 8 x 8 and 16 x 8 pixels, expected one size");
  EXPECT_SENTENCE(interpolate_cameras({small, small}, -1), "-1 cameras between");
}

TEST(LookFromAllSides, ARingDoesAndAnArcDoesNot) {
  const auto ring = tracer::ring_cameras(12, 30, 8, 16);
  EXPECT_TRUE(look_from_all_sides(ring));
  EXPECT_FALSE(look_from_all_sides({ring.begin(), ring.begin() + 5}));
  EXPECT_FALSE(look_from_all_sides({ring.front()}));
  const auto around = turntable_cameras_around(ring, 9);
  ASSERT_EQ(around.size(), 9u);
  EXPECT_EQ(around.front().width, 16);
  EXPECT_EQ(around.front().height, 8);
}

}  // namespace
}  // namespace lact::data
