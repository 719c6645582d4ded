#include "lact/data/views/tracer/random_camera.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lact/data/views/pose.h"
#include "support/errors.h"

namespace lact::data::tracer {
namespace {

std::array<double, 3> place_of(const Camera& camera) {
  return {camera.camera_to_world[0][3], camera.camera_to_world[1][3], camera.camera_to_world[2][3]};
}

double length_of(const std::array<double, 3>& vector) { return std::hypot(vector[0], vector[1], vector[2]); }

TEST(TracerCamera, LooksForwardWithXRightAndYDown) {
  // The first camera of the gso_toy example: at (2.7, 0, 0), right is +y, down is -z.
  const Camera camera = camera_towards({2.7, 0, 0}, {0, 0, 0}, 1.072, 256, 256);
  const std::array<std::array<double, 4>, 4> expected = {
      {{0, 0, -1, 2.7}, {1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 0, 1}}};
  for (size_t row = 0; row < 4; ++row) {
    for (size_t column = 0; column < 4; ++column) {
      EXPECT_NEAR(camera.camera_to_world[row][column], expected[row][column], 1e-12);
    }
  }
  EXPECT_NEAR(camera.fx, 274.4, 0.1);
  EXPECT_EQ(camera.cx, 128);
}

TEST(TracerCamera, CamerasThatCannotLookAreRefused) {
  EXPECT_SENTENCE(camera_towards({1, 2, 3}, {1, 2, 3}, 1, 8, 8), "cannot look from");
  EXPECT_SENTENCE(camera_towards({0, 0, 3}, {0, 0, 0}, 1, 8, 8), "cannot look from");
}

TEST(TracerCamera, CamerasBroughtNearStandNearAnInputAndLookAtTheSameThing) {
  const auto before = random_cameras(3, 40, 48, 64);
  auto cameras = before;
  bring_near(cameras, 4, 0.5, 1);
  int moved = 0;
  for (size_t i = 0; i < cameras.size(); ++i) {
    if (cameras[i].camera_to_world == before[i].camera_to_world) continue;
    ++moved;
    const Point place = column(cameras[i].camera_to_world, 3), sight = column(cameras[i].camera_to_world, 2);
    const bool near_an_input = std::any_of(before.begin(), before.begin() + 4, [&](const Camera& input) {
      const Point other = column(input.camera_to_world, 3), before_sight = column(input.camera_to_world, 2);
      const double angle =
          std::acos(data::dot(place, other) / data::length(place) / data::length(other)) * 57.29577951;
      // Sight turned with the place: the angle between them is as before.
      return angle <= kNearDegrees + 1e-6 && std::fabs(data::length(place) - data::length(other)) < 1e-9 &&
             std::fabs(data::dot(sight, place) - data::dot(before_sight, other)) < 1e-9;
    });
    EXPECT_TRUE(near_an_input) << i;
    check_pose(cameras[i].camera_to_world, "a camera brought near");
  }
  EXPECT_GE(moved, 10);
  EXPECT_LE(moved, 26);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(cameras[i].camera_to_world, before[i].camera_to_world);
  EXPECT_SENTENCE(bring_near(cameras, 0, 0.5, 1), "0 of 40 cameras are inputs");
  EXPECT_SENTENCE(bring_near(cameras, 4, 1.5, 1), "expected 0 to 1");
}

TEST(TracerCamera, RandomCamerasSeeTheOriginFromWithinTheRanges) {
  int usual = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto cameras = random_cameras(seed, 6, 48, 64);
    ASSERT_EQ(cameras.size(), 6U);
    bool all_usual = true;
    for (const Camera& camera : cameras) {
      const auto place = place_of(camera);
      const double distance = length_of(place);
      const double elevation = std::asin(place[2] / distance) * 180 / 3.14159265;
      EXPECT_GE(distance, 2.2 - 1e-9);
      EXPECT_LE(distance, 3.5 + 1e-9);
      EXPECT_GE(elevation, -10.001);
      EXPECT_LE(elevation, 75.001);
      EXPECT_EQ(camera.fx, cameras[0].fx) << "one focal length for a scene";
      EXPECT_EQ(camera.width, 64);
      EXPECT_EQ(camera.height, 48);
      all_usual = all_usual && std::fabs(distance - 2.7) < 1e-9 && std::fabs(camera.fx - 1.072 * 48) < 1e-9;
      // A rotation: orthogonal columns of length 1, x cross y is z. And the origin is within the picture.
      const auto& rows = camera.camera_to_world;
      std::array<double, 3> local{};
      for (size_t a = 0; a < 3; ++a) {
        for (size_t b = 0; b < 3; ++b) {
          const double product = rows[0][a] * rows[0][b] + rows[1][a] * rows[1][b] + rows[2][a] * rows[2][b];
          EXPECT_NEAR(product, a == b ? 1 : 0, 1e-9);
        }
        local[a] = -(rows[0][a] * place[0] + rows[1][a] * place[1] + rows[2][a] * place[2]);
      }
      EXPECT_NEAR(rows[0][0] * rows[1][1] - rows[1][0] * rows[0][1], rows[2][2], 1e-9);
      EXPECT_GT(local[2], 0);
      EXPECT_NEAR(camera.fx * local[0] / local[2] + camera.cx, 32, 6);
      EXPECT_NEAR(camera.fy * local[1] / local[2] + camera.cy, 24, 6);
    }
    usual += all_usual ? 1 : 0;
  }
  EXPECT_GT(usual, 30);
  EXPECT_LT(usual, 70);
}

TEST(TracerCamera, MoreViewsOfASeedBeginWithTheSameOnes) {
  const auto few = random_cameras(9, 2, 32, 32), many = random_cameras(9, 5, 32, 32);
  EXPECT_EQ(few[1].camera_to_world, many[1].camera_to_world);
  EXPECT_NE(random_cameras(10, 1, 32, 32)[0].camera_to_world, few[0].camera_to_world);
}

TEST(TracerCamera, RingGoesAround) {
  const auto ring = ring_cameras(4, 30, 16, 16);
  EXPECT_NEAR(place_of(ring[0])[0], 2.7 * std::sqrt(0.75), 1e-9);
  EXPECT_NEAR(place_of(ring[1])[1], 2.7 * std::sqrt(0.75), 1e-9);
  EXPECT_NEAR(place_of(ring[3])[2], 1.35, 1e-9);
}

}  // namespace
}  // namespace lact::data::tracer
