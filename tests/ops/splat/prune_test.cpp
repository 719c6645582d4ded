#include "lact/ops/splat/prune.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/gaussians.h"

namespace lact::ops {
namespace {

using lact::testing::few_gaussians;

TEST(PruneGaussians, TheMostOpaqueStayInTheirOrder) {
  Gaussians all = few_gaussians(5, 1);
  all.opacity_logits = at::tensor({0.1, 3.0, -2.0, 2.0, 0.5}, at::kDouble);
  const Gaussians kept = most_opaque(all, 0.6);
  EXPECT_TRUE(kept.opacity_logits.equal(at::tensor({3.0, 2.0, 0.5}, at::kDouble)));
  EXPECT_TRUE(kept.means.equal(all.means.index_select(0, at::tensor({1, 3, 4}))));
  EXPECT_TRUE(kept.harmonics.equal(all.harmonics.index_select(0, at::tensor({1, 3, 4}))));
  EXPECT_EQ(most_opaque(all, 1).size(), 5);
}

// Long-LRM: 36 of 100 by their opacity, 4 by chance.
TEST(PruneGaussians, SomeOfTheOthersAreDrawn) {
  Gaussians all = few_gaussians(100, 0);
  all.opacity_logits = at::arange(100, at::kDouble);
  all.means = at::arange(100, at::kDouble).unsqueeze(1).expand({100, 3});
  const auto drawn = [&] { return most_opaque(all, 0.4, 0.1).means.select(1, 0); };
  const at::Tensor first = drawn(), second = drawn();
  EXPECT_EQ(first.size(0), 40);
  EXPECT_TRUE(first.slice(0, 4).equal(at::arange(64, 100, at::kDouble)));
  EXPECT_LT(first[3].item<double>(), 64);
  EXPECT_FALSE(first.equal(second));
}

TEST(PruneGaussians, OpacitiesAboveALimitStay) {
  Gaussians all = few_gaussians(3, 0);
  all.opacity_logits = at::tensor({-1.0, 0.0, 1.0}, at::kDouble);
  EXPECT_EQ(more_opaque_than(all, 0.5).size(), 1);
  EXPECT_EQ(more_opaque_than(all, 0.4).size(), 2);
  EXPECT_EQ(more_opaque_than(all, 0.9).size(), 0);
}

TEST(PruneGaussians, AShareIsAShare) {
  EXPECT_SENTENCE(most_opaque(few_gaussians(2, 0), 0), "the share 0 of all Gaussians");
  EXPECT_SENTENCE(most_opaque(few_gaussians(2, 0), 0.5, 2), "expected shares from 0 to 1");
}

}  // namespace
}  // namespace lact::ops
