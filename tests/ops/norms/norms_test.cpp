#include "lact/ops/norms/norms.h"

#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

TEST(Norms, L2NormalizedVectorsHaveUnitLength) {
  at::manual_seed(1);
  const at::Tensor x = randn({3, 4, 7});
  EXPECT_LT(difference(l2_normalize(x, 0).norm(2, -1), at::ones({3, 4}, at::kDouble)), 1e-12);
  EXPECT_EQ(l2_normalize(at::zeros({2, 3}), 1e-5).abs().max().item<float>(), 0);
}

TEST(Norms, RmsNormHasUnitMeanSquareTimesWeight) {
  at::manual_seed(2);
  const at::Tensor x = randn({5, 8}), weight = randn({8});
  EXPECT_LT(difference(rms_norm(x, {}, 0).square().mean(-1), at::ones({5}, at::kDouble)), 1e-12);
  EXPECT_LT(difference(rms_norm(x, weight, 1e-6), rms_norm(x, {}, 1e-6) * weight), 1e-12);
}

TEST(Norms, LayerNormAgreesWithLibTorch) {
  at::manual_seed(3);
  const at::Tensor x = randn({5, 8}), weight = randn({8}), bias = randn({8});
  EXPECT_LT(difference(layer_norm(x, weight, bias, 1e-5), at::layer_norm(x, {8}, weight, bias, 1e-5)), 1e-12);
  EXPECT_LT(difference(layer_norm(x, {}, {}, 1e-5), at::layer_norm(x, {8}, {}, {}, 1e-5)), 1e-12);
}

TEST(Norms, StatisticsOfBfloat16AreTakenInFloat32) {
  // 300 ones sum to 256 in bfloat16; the mean square must still be 1.
  const at::Tensor x = at::ones({1, 300}, at::kBFloat16);
  EXPECT_EQ(rms_norm(x, {}, 0).scalar_type(), at::kBFloat16);
  EXPECT_EQ(rms_norm(x, {}, 0)[0][0].item<float>(), 1.0f);
}

TEST(Norms, RowNormsAreRestored) {
  at::manual_seed(4);
  const at::Tensor before = randn({2, 3, 5, 6});
  const at::Tensor after = set_row_norms(before + randn({2, 3, 5, 6}), row_norms(before), 0);
  EXPECT_EQ(row_norms(before).sizes(), (std::vector<int64_t>{2, 3, 5, 1}));
  EXPECT_LT(difference(row_norms(after), row_norms(before)), 1e-12);
}

TEST(Norms, GradientsMatchFiniteDifferences) {
  at::manual_seed(5);
  expect_gradients([](const auto& x) { return l2_normalize(x[0], 1e-5); }, {randn({3, 4})});
  expect_gradients([](const auto& x) { return rms_norm(x[0], x[1], 1e-5); }, {randn({3, 4}), randn({4})});
  expect_gradients([](const auto& x) { return layer_norm(x[0], x[1], x[2], 1e-5); },
                   {randn({3, 4}), randn({4}), randn({4})});
  expect_gradients([](const auto& x) { return set_row_norms(x[0], x[1], 1e-5); },
                   {randn({2, 3, 4}), at::rand({2, 3, 1}, at::kDouble) + 0.5});
}

TEST(Norms, ZeroRowsHaveFiniteGradients) {
  at::Tensor weight = at::zeros({3, 4}, at::kDouble).requires_grad_(true);
  set_row_norms(weight, row_norms(weight), 1e-5).sum().backward();
  EXPECT_TRUE(at::isfinite(weight.grad()).all().item<bool>());
}

TEST(Norms, WrongWeightGetsASentence) {
  EXPECT_SENTENCE(rms_norm(at::randn({2, 4}), at::randn({5}), 1e-5), "weight has shape [5], expected [4]");
  EXPECT_SENTENCE(layer_norm(at::randn({2, 4}), {}, at::randn({3}), 1e-5),
                  "bias has shape [3], expected [4]");
}

}  // namespace
}  // namespace lact::ops
