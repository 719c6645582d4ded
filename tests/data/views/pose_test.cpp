#include "lact/data/views/pose.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/errors.h"

namespace lact::data {
namespace {

void expect_near(const Pose& found, const Pose& expected, double tolerance = 1e-12) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_NEAR(found[i][j], expected[i][j], tolerance) << i << ", " << j;
}

TEST(Pose, LookingAtByHand) {
  // From (3, 0, 0) to the origin with -y upwards: right is z, down is y, forward is -x.
  expect_near(look_at({3, 0, 0}, {0, 0, 0}, {0, -1, 0}),
              {{{0, 0, -1, 3}, {0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 1}}});
}

TEST(Pose, InverseUndoes) {
  Pose pose = look_at({1, 2, 3}, {-0.5, 0.2, 0}, {0, 0, 1});
  expect_near(multiply(inverse(pose), pose), identity_pose());
  for (auto& row : pose) row[1] *= 2.5;  // also of a matrix that is no rotation
  expect_near(multiply(pose, inverse(pose)), identity_pose());
}

TEST(Pose, FlippingTwiceChangesNothing) {
  const Pose pose = look_at({1, 2, 3}, {0, 0, 0}, {0, 0, 1});
  expect_near(with_y_and_z_flipped(with_y_and_z_flipped(pose)), pose);
  EXPECT_NEAR(column(with_y_and_z_flipped(pose), 2)[0], -pose[0][2], 1e-15);
  EXPECT_NEAR(column(with_y_and_z_flipped(pose), 0)[0], pose[0][0], 1e-15);
}

TEST(Pose, BadPosesAreASentence) {
  Pose pose = identity_pose();
  check_pose(pose, "p");
  pose[1][3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_SENTENCE(check_pose(pose, "p"), "p holds nan, expected finite numbers");
  pose = identity_pose();
  pose[0][0] = 2;
  EXPECT_SENTENCE(check_pose(pose, "p"), "the product of axes 0 and 0 is 4, expected 1");
  pose = identity_pose();
  pose[0][1] = 0.5;
  EXPECT_SENTENCE(check_pose(pose, "p"), "p is not a rotation");
  pose = identity_pose();
  pose[2][2] = -1;
  EXPECT_SENTENCE(check_pose(pose, "p"), "p mirrors the scene");
  pose = identity_pose();
  pose[3][0] = 1;
  EXPECT_SENTENCE(check_pose(pose, "p"), "p has the last row 1 0 0 1, expected 0 0 0 1");
  EXPECT_SENTENCE(check_pose(Pose{}, "p"), "expected 0 0 0 1");
}

TEST(Pose, LookingAlongTheUpwardDirectionIsASentence) {
  EXPECT_SENTENCE(look_at({0, 0, 3}, {0, 0, 0}, {0, 0, 1}), "a camera cannot look from");
  EXPECT_SENTENCE(look_at({0, 0, 0}, {0, 0, 0}, {0, 0, 1}), "a camera cannot look from");
}

}  // namespace
}  // namespace lact::data
