#include "lact/io/finite.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/errors.h"

namespace lact::io {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Finite, FindsOneBadNumberAnywhereInEveryType) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
      for (const int64_t place : {0, 1, 4095, 4096, 600'000, 600'006}) {
        at::Tensor tensor = at::randn({600'007}, at::kFloat).to(type);
        ASSERT_TRUE(all_finite(tensor));
        tensor[place] = bad;
        EXPECT_FALSE(all_finite(tensor)) << toString(type) << " " << bad << " at " << place;
      }
    }
  }
}

TEST(Finite, TheLargestAndTheSmallestNumbersAreFinite) {
  EXPECT_TRUE(all_finite(at::tensor({3.4028234e38f, -3.4028234e38f, 1e-45f, -0.0f})));
  EXPECT_TRUE(all_finite(at::tensor({3.38e38f, 1e-40f}).to(at::kBFloat16)));
  EXPECT_TRUE(all_finite(at::tensor({65504.f, 6e-8f}).to(at::kHalf)));
  EXPECT_TRUE(all_finite(at::tensor({1.79e308, 5e-324}, at::kDouble)));
}

TEST(Finite, WholeNumbersNothingAndStridesAreFine) {
  EXPECT_TRUE(all_finite(at::full({5}, -1, at::kLong)));
  EXPECT_TRUE(all_finite(at::empty({0, 3})));
  at::Tensor grid = at::zeros({4, 4});
  grid[1][0] = kInfinity;
  EXPECT_TRUE(all_finite(grid.select(1, 1)));
  EXPECT_FALSE(all_finite(grid.select(1, 0)));
}

TEST(Finite, TheSentenceNamesFileAndTensor) {
  EXPECT_NO_THROW(check_finite({{"a", at::ones({2})}}, "model.safetensors"));
  EXPECT_SENTENCE(
      check_finite({{"a", at::ones({2})}, {"layer.w", at::full({2}, kInfinity)}}, "model.safetensors"),
      "model.safetensors: tensor \"layer.w\" holds numbers that are infinite or NaN");
}

}  // namespace
}  // namespace lact::io
