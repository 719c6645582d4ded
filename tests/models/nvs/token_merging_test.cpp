#include "lact/models/nvs/token_merging.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::models {
namespace {

TEST(TokenMerging, FourNeighboursBecomeOneChannelByChannel) {
  at::manual_seed(1);
  TokenMerging merging(2, 6, 1);
  merging.to(at::kDouble);
  const auto weights = merging.named_parameters();
  const at::Tensor x = at::randn({2, 1 + 2 * 4 * 6, 2}, at::kDouble);
  const at::Tensor merged = merging.forward(x, {4, 6});
  ASSERT_EQ(merged.sizes(), at::IntArrayRef({2, 1 + 2 * 2 * 3, 6}));
  const at::Tensor images = x.slice(1, 1).view({2, 2, 4, 6, 2}),
                   result = merged.slice(1, 1).view({2, 2, 2, 3, 6});
  for (int64_t channel = 0; channel < 6; ++channel) {
    double sum = weights["bias"][channel].item<double>();  // of batch 1, view 1, row 1, column 2
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j)
        sum += (weights["weight"][channel][0][i][j] * images[1][1][2 + i][4 + j][channel / 3]).item<double>();
    EXPECT_NEAR(result[1][1][1][2][channel].item<double>(), sum, 1e-12);
  }
  const at::Tensor wide = at::matmul(x.narrow(1, 0, 1), weights["widen.weight"].t()) + weights["widen.bias"];
  EXPECT_TRUE(merged.narrow(1, 0, 1).allclose(wide));
}

TEST(TokenMerging, OddNumbersOfPatchesAreRefused) {
  TokenMerging merging(2, 4, 0);
  EXPECT_SENTENCE(merging.forward(at::zeros({1, 6, 2}), {2, 3}), "2 x 3 patches of an image do not divide");
  EXPECT_SENTENCE(TokenMerging(4, 6, 0), "4 channels cannot become 6");
}

}  // namespace
}  // namespace lact::models
