#include "lact/ops/losses/losses.h"

#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

TEST(Losses, NextTokenLossLooksOneAhead) {
  at::manual_seed(1);
  const at::Tensor logits = randn({2, 4, 5});
  const at::Tensor ids = at::tensor({0, 3, 1, 4, 2, 2, 0, 1}, at::kLong).view({2, 4});
  const at::Tensor loss = next_token_loss(logits, ids);
  EXPECT_EQ(loss.sizes(), (std::vector<int64_t>{2, 3}));
  const double expected = -at::log_softmax(logits[1][2], -1)[1].item<double>();
  EXPECT_NEAR(loss[1][2].item<double>(), expected, 1e-12);
  EXPECT_EQ(next_token_loss(at::zeros({1, 3, 8}), at::zeros({1, 3}, at::kLong)).max().item<float>(),
            std::log(8.0f));
}

TEST(Losses, BlockMeansLeaveOutTheIncompleteLastBlock) {
  const at::Tensor means = block_means(at::arange(8, at::kDouble), 3);
  EXPECT_LT(difference(means, at::tensor({1.0, 4.0}, at::kDouble)), 1e-12);
}

TEST(Losses, PsnrOfAKnownError) {
  const at::Tensor a = at::zeros({1, 3, 12, 12}), b = at::full({1, 3, 12, 12}, 0.1);
  EXPECT_NEAR(psnr(a, b).item<float>(), 20, 1e-4);
}

TEST(Losses, SsimIsOneForEqualImagesAndLessForOthers) {
  at::manual_seed(2);
  const at::Tensor a = at::rand({2, 3, 16, 20});
  EXPECT_EQ(ssim_map(a, a).sizes(), (std::vector<int64_t>{2, 3, 6, 10}));
  EXPECT_LT(difference(ssim_map(a, a), at::ones({2, 3, 6, 10})), 1e-5);
  EXPECT_LT(ssim_map(a, at::rand({2, 3, 16, 20})).mean().item<float>(), 0.5);
}

TEST(Losses, SsimIsThatOfItsDefinition) {
  at::manual_seed(4);
  // One place of the window alone; small contrasts, where the constants count.
  const at::Tensor x = at::rand({1, 1, 11, 11}, at::kDouble) * 0.1 + 0.02;
  const at::Tensor y = (x * 0.5 + at::rand({1, 1, 11, 11}, at::kDouble) * 0.05);
  const at::Tensor offset = at::arange(11, at::kDouble) - 5;
  const at::Tensor line = (-offset * offset / (2 * 1.5 * 1.5)).exp();
  const at::Tensor weights = at::outer(line, line) / line.sum().square();
  const auto mean = [&](const at::Tensor& values) { return (weights * values[0][0]).sum().item<double>(); };
  const double mean_x = mean(x), mean_y = mean(y), c1 = 0.0001, c2 = 0.0009;
  const double var_x = mean((x - mean_x).square()), var_y = mean((y - mean_y).square());
  const double covariance = mean((x - mean_x) * (y - mean_y));
  EXPECT_NEAR(ssim_map(x, y).item<double>(),
              (2 * mean_x * mean_y + c1) * (2 * covariance + c2) /
                  ((mean_x * mean_x + mean_y * mean_y + c1) * (var_x + var_y + c2)),
              1e-12);
}

TEST(Losses, GradientsMatchFiniteDifferences) {
  at::manual_seed(3);
  const at::Tensor ids = at::randint(0, 5, {2, 4}, at::kLong);
  expect_gradients([&](const auto& x) { return next_token_loss(x[0], ids); }, {randn({2, 4, 5})});
  expect_gradients([](const auto& x) { return psnr(x[0], x[1]); },
                   {at::rand({1, 1, 11, 11}, at::kDouble), at::rand({1, 1, 11, 11}, at::kDouble)});
  expect_gradients([](const auto& x) { return ssim_map(x[0], x[1]); },
                   {at::rand({1, 2, 12, 11}, at::kDouble), at::rand({1, 2, 12, 11}, at::kDouble)});
}

TEST(Losses, BadInputGetsASentence) {
  EXPECT_SENTENCE(next_token_loss(at::randn({1, 3, 4}), at::full({1, 3}, 9, at::kLong)), "expected 0 to 3");
  EXPECT_SENTENCE(next_token_loss(at::randn({1, 3, 4}), at::zeros({1, 4}, at::kLong)),
                  "expected [B, T, vocabulary]");
  EXPECT_SENTENCE(psnr(at::rand({1, 3, 4, 4}), at::rand({1, 3, 4, 5})), "two equal [N, C, H, W]");
  EXPECT_SENTENCE(ssim_map(at::rand({1, 3, 4, 4}), at::rand({1, 3, 4, 4})), "at least 11 x 11");
  EXPECT_SENTENCE(block_means(at::rand({4}), 0), "at least 1");
}

}  // namespace
}  // namespace lact::ops
