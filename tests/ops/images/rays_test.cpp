#include "lact/ops/images/rays.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::ops {
namespace {

at::Tensor doubles(std::vector<double> values) { return at::tensor(values, at::kDouble); }

at::Tensor ray_at(const at::Tensor& rays, int64_t row, int64_t column) {
  return rays.select(-2, row).select(-1, column);
}

TEST(Rays, CameraAtTheOriginLooksAlongZ) {
  // Principal point in the centre of a pixel: its ray is the z axis.
  const at::Tensor rays = plucker_rays(doubles({2, 4, 1.5, 0.5}), at::eye(4, at::kDouble), 2, 3);
  ASSERT_EQ(rays.sizes(), at::IntArrayRef({9, 2, 3}));
  EXPECT_TRUE(ray_at(rays, 0, 1).allclose(doubles({0, 0, 0, 0, 0, 1, 0, 0, 0})));
  // One pixel to the left: x = -1/2; one down: y = 1/4.
  EXPECT_TRUE(ray_at(rays, 0, 0).narrow(0, 3, 3).allclose(doubles({-0.5, 0, 1}) / std::sqrt(1.25)));
  EXPECT_TRUE(ray_at(rays, 1, 1).narrow(0, 3, 3).allclose(doubles({0, 0.25, 1}) / std::sqrt(1.0625)));
}

TEST(Rays, TurnedAndMovedCamera) {
  // The camera's z is the world's x, its x the world's -z; it stands at (1, 2, 3).
  const at::Tensor pose = doubles({0, 0, 1, 1, 0, 1, 0, 2, -1, 0, 0, 3, 0, 0, 0, 1}).view({4, 4});
  const at::Tensor rays = plucker_rays(doubles({1, 1, 0.5, 0.5}), pose, 1, 2);
  // o × d = (1, 2, 3) × (1, 0, 0) = (0, 3, -2)
  EXPECT_TRUE(ray_at(rays, 0, 0).allclose(doubles({1, 2, 3, 1, 0, 0, 0, 3, -2})));
  EXPECT_TRUE(ray_at(rays, 0, 1).narrow(0, 3, 3).allclose(doubles({1, 0, -1}) / std::sqrt(2.0)));
}

TEST(Rays, LeadingDimensionsAreIndependent) {
  const at::Tensor intrinsics = at::rand({2, 3, 4}, at::kDouble) + 5;
  const at::Tensor poses = at::randn({2, 3, 4, 4}, at::kDouble);
  const at::Tensor all = plucker_rays(intrinsics, poses, 4, 5);
  ASSERT_EQ(all.sizes(), at::IntArrayRef({2, 3, 9, 4, 5}));
  EXPECT_TRUE(all[1][2].allclose(plucker_rays(intrinsics[1][2], poses[1][2], 4, 5)));
  EXPECT_TRUE(all.narrow(2, 3, 3).norm(2, {2}).allclose(at::ones({2, 3, 4, 5}, at::kDouble)));
}

// A camera anywhere on the line makes the same points of it, and the same camera's rays differ.
TEST(Rays, PointsAreThoseOfTheLine) {
  const at::Tensor direction = doubles({2, -1, 2}) / 3, origin = doubles({0.3, 0.5, -1});
  const auto waves = [&](const at::Tensor& from, const at::Tensor& towards) {
    const at::Tensor moment = at::linalg_cross(from, towards);
    return ray_point_waves(at::cat({from, towards, moment}), 5, 3, 0.8);
  };
  const at::Tensor one = waves(origin, direction);
  ASSERT_EQ(one.sizes(), at::IntArrayRef({6 * 5 * 3}));
  EXPECT_TRUE(one.allclose(waves(origin + 4 * direction, direction), 1e-9, 1e-9));
  EXPECT_GT((one - waves(origin, doubles({2, 1, 2}) / 3)).abs().max().item<double>(), 0.1);

  // The middle point is the nearest to the origin, the first is 0.8 before it.
  const at::Tensor nearest = origin - (origin * direction).sum() * direction;
  const at::Tensor angles = one.view({2, 5, 3, 3});  // sine or cosine, point, axis, octave
  for (const auto& [point, offset] : {std::pair{0, -0.8}, {2, 0.0}, {4, 0.8}}) {
    const at::Tensor place = nearest + offset * direction;
    for (int octave = 0; octave < 3; ++octave) {
      const at::Tensor angle = M_PI * (1 << octave) * place;
      EXPECT_TRUE(angles[0][point].select(-1, octave).allclose(angle.sin(), 1e-9, 1e-9));
      EXPECT_TRUE(angles[1][point].select(-1, octave).allclose(angle.cos(), 1e-9, 1e-9));
    }
  }
}

TEST(Rays, MistakesAreSentences) {
  EXPECT_SENTENCE(ray_point_waves(at::ones({2, 6}), 4, 2, 1),
                  "the rays have shape [2, 6], expected [..., 9]");
  EXPECT_SENTENCE(ray_point_waves(at::ones({2, 9}), 0, 2, 1),
                  "0 points of 2 octaves, expected at least 1 of 1");
  const at::Tensor pose = at::eye(4);
  EXPECT_SENTENCE(plucker_rays(at::ones({3}), pose, 2, 2),
                  "the intrinsics have shape [3], expected [..., 4]");
  EXPECT_SENTENCE(plucker_rays(at::ones({2, 4}), pose, 2, 2),
                  "camera_to_world has shape [4, 4], expected [2, 4, 4]");
  EXPECT_SENTENCE(plucker_rays(at::ones({4}), pose.to(at::kDouble), 2, 2), "one floating point type");
  EXPECT_SENTENCE(plucker_rays(at::ones({4}), pose, 0, 2), "0 x 2 pixels");
}

}  // namespace
}  // namespace lact::ops
