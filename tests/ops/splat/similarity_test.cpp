#include "lact/ops/splat/similarity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/gaussians.h"

namespace lact::ops {
namespace {

/// A rotation by `angle` about an axis that is none of the coordinates'.
at::Tensor rotation(double angle) {
  const at::Tensor axis = at::tensor({0.48, -0.6, 0.64}, at::kDouble);
  const at::Tensor cross = at::zeros({3, 3}, at::kDouble);
  cross[0][1] = -axis[2], cross[0][2] = axis[1], cross[1][2] = -axis[0];
  const at::Tensor skew = cross - cross.t();
  return at::eye(3, at::kDouble) + std::sin(angle) * skew + (1 - std::cos(angle)) * at::matmul(skew, skew);
}

TEST(Similarity, MovedCamerasSeeTheSameOfMovedGaussians) {
  at::manual_seed(2);
  for (const double angle : {0.3, 2.0, M_PI}) {
    for (const int64_t degree : {0, 1, 3}) {
      const Gaussians given = lact::testing::few_gaussians(12, degree);
      const at::Tensor turn = rotation(angle);
      Similarity similarity;
      similarity.scale = 2.5;
      similarity.translation = {3, -1, 0.5};
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 3; ++j) similarity.rotation[size_t(i)][size_t(j)] = turn[i][j].item<double>();
      at::Tensor pose = at::eye(4, at::kDouble), moved_pose = pose.clone();
      pose[0][3] = 0.2, pose[2][3] = -0.5;
      moved_pose.slice(0, 0, 3).slice(1, 0, 3).copy_(turn);
      moved_pose.slice(0, 0, 3).select(1, 3).copy_(2.5 * at::matmul(turn, pose.slice(0, 0, 3).select(1, 3)) +
                                                   at::tensor({3.0, -1.0, 0.5}, at::kDouble));
      const at::Tensor before = splat(given, lact::testing::small_camera(8, 10, pose)).image;
      const at::Tensor after =
          splat(moved(given, similarity), lact::testing::small_camera(8, 10, moved_pose)).image;
      EXPECT_TRUE(after.allclose(before, 1e-9, 1e-9)) << "angle " << angle << ", degree " << degree;
      EXPECT_GT(before.abs().max().item<double>(), 0.1);
    }
  }
}

}  // namespace
}  // namespace lact::ops
