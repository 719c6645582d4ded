#include "lact/ttt/fast_weight.h"

#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ttt {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

SwigluMatrices random_swiglu(at::IntArrayRef batch, int64_t in, int64_t hidden, int64_t out) {
  const auto matrix = [&](int64_t rows, int64_t cols) {
    auto sizes = batch.vec();
    sizes.insert(sizes.end(), {rows, cols});
    return randn(sizes) / std::sqrt(double(cols));
  };
  return {.gate = matrix(hidden, in), .down = matrix(out, hidden), .up = matrix(hidden, in)};
}

SwigluMatrices random_rates(at::IntArrayRef tokens, int64_t in, int64_t hidden, bool per_channel) {
  const auto rate = [&](int64_t channels) {
    auto sizes = tokens.vec();
    sizes.push_back(per_channel ? channels : 1);
    return at::rand(sizes, at::kDouble);
  };
  return {.gate = rate(in), .down = rate(hidden), .up = rate(in)};
}

TEST(FastWeight, SwigluIsDownOfGatedUp) {
  at::manual_seed(1);
  const auto w = random_swiglu({2, 3}, 5, 8, 4);
  const at::Tensor x = randn({2, 3, 7, 5});
  const at::Tensor output = swiglu_apply(w, x);
  // One token, written out.
  const at::Tensor token = x[1][2][4];
  const at::Tensor hidden = at::silu(at::mv(w.gate[1][2], token)) * at::mv(w.up[1][2], token);
  EXPECT_LT(difference(output[1][2][4], at::mv(w.down[1][2], hidden)), 1e-12);
}

TEST(FastWeight, SwigluDescentIsMinusTheGradientOfTheWeightedLoss) {
  at::manual_seed(2);
  auto w = random_swiglu({2}, 5, 8, 4);
  for (auto* matrix : {&w.gate, &w.down, &w.up}) matrix->requires_grad_(true);
  const at::Tensor k = randn({2, 6, 5}), v = randn({2, 6, 4});
  const auto rates = random_rates({2, 6}, 5, 8, /*per_channel=*/false);
  const auto descent = swiglu_descent(w, k, v, rates);
  // Rates differ per matrix, so each matrix has a loss of its own: Σ_t rate_t · -f(k_t)·v_t.
  const auto expected = [&](const at::Tensor& matrix, const at::Tensor& rate) {
    const at::Tensor loss = -(swiglu_apply(w, k) * v * rate).sum();
    return -torch::autograd::grad({loss}, {matrix})[0];
  };
  EXPECT_LT(difference(descent.gate, expected(w.gate, rates.gate)), 1e-12);
  EXPECT_LT(difference(descent.down, expected(w.down, rates.down)), 1e-12);
  EXPECT_LT(difference(descent.up, expected(w.up, rates.up)), 1e-12);
}

TEST(FastWeight, RatePerChannelScalesTheInputSideOfEachMatrix) {
  at::manual_seed(3);
  const auto w = random_swiglu({1}, 3, 4, 3);
  const at::Tensor k = randn({1, 5, 3}), v = randn({1, 5, 3});
  auto rates = random_rates({1, 5}, 3, 4, /*per_channel=*/true);
  const auto base = swiglu_descent(w, k, v, rates);
  rates.down.select(-1, 2).mul_(10);
  const auto changed = swiglu_descent(w, k, v, rates);
  EXPECT_LT(difference(changed.down.select(-1, 2), base.down.select(-1, 2) * 10), 1e-12);
  EXPECT_LT(difference(changed.down.select(-1, 1), base.down.select(-1, 1)), 1e-12);
  EXPECT_LT(difference(changed.gate, base.gate), 1e-12);
}

TEST(FastWeight, LinearDescentIsTheSumOfOuterProducts) {
  at::manual_seed(4);
  const at::Tensor w = randn({2, 4, 3}), k = randn({2, 6, 3}), v = randn({2, 6, 4}),
                   rate = at::rand({2, 6, 1}, at::kDouble);
  at::Tensor expected = at::zeros_like(w);
  for (int64_t t = 0; t < 6; ++t) {
    expected += (v.select(1, t) * rate.select(1, t)).unsqueeze(2) * k.select(1, t).unsqueeze(1);
  }
  EXPECT_LT(difference(linear_descent(w, k, v, rate), expected), 1e-12);
  EXPECT_LT(difference(linear_apply(w, k)[0][3], at::mv(w[0], k[0][3])), 1e-12);
}

TEST(FastWeight, OrderOfTokensInAChunkDoesNotMatter) {
  at::manual_seed(5);
  const auto w = random_swiglu({2}, 5, 7, 5);
  const at::Tensor k = randn({2, 9, 5}), v = randn({2, 9, 5});
  const auto rates = random_rates({2, 9}, 5, 7, false);
  const at::Tensor order = at::randperm(9, at::kLong);
  const auto pick = [&](const at::Tensor& x) { return x.index_select(1, order); };
  const auto a = swiglu_descent(w, k, v, rates);
  const auto b = swiglu_descent(w, pick(k), pick(v), {pick(rates.gate), pick(rates.down), pick(rates.up)});
  EXPECT_LT(difference(a.gate, b.gate), 1e-12);
  EXPECT_LT(difference(a.down, b.down), 1e-12);
  EXPECT_LT(difference(a.up, b.up), 1e-12);
}

TEST(FastWeight, GradientsMatchFiniteDifferences) {
  at::manual_seed(6);
  const auto w = random_swiglu({2}, 3, 5, 4);
  const at::Tensor k = randn({2, 4, 3}), v = randn({2, 4, 4});
  const auto rates = random_rates({2, 4}, 3, 5, true);
  expect_gradients(
      [](const auto& x) {
        return swiglu_apply({x[0], x[1], x[2]}, x[3]);
      },
      {w.gate, w.down, w.up, k});
  for (int part = 0; part < 3; ++part) {
    expect_gradients(
        [&](const auto& x) {
          const auto d = swiglu_descent({x[0], x[1], x[2]}, x[3], x[4], {x[5], x[6], x[7]});
          return part == 0 ? d.gate : part == 1 ? d.down : d.up;
        },
        {w.gate, w.down, w.up, k, v, rates.gate, rates.down, rates.up});
  }
  expect_gradients([](const auto& x) { return linear_descent(x[0], x[1], x[2], x[3]); },
                   {randn({2, 4, 3}), k, v, at::rand({2, 4, 1}, at::kDouble)});
}

TEST(FastWeight, Bfloat16TokensGiveFloat32Directions) {
  at::manual_seed(7);
  auto w = random_swiglu({2}, 16, 24, 16);
  for (auto* matrix : {&w.gate, &w.down, &w.up}) *matrix = matrix->to(at::kFloat);
  const at::Tensor k = at::randn({2, 33, 16}), v = at::randn({2, 33, 16});
  auto rates = random_rates({2, 33}, 16, 24, false);
  for (auto* rate : {&rates.gate, &rates.down, &rates.up}) *rate = rate->to(at::kFloat);
  const auto precise = swiglu_descent(w, k, v, rates);
  const auto rounded = swiglu_descent(w, k.to(at::kBFloat16), v.to(at::kBFloat16), rates);
  EXPECT_EQ(rounded.gate.scalar_type(), at::kFloat);
  EXPECT_LT(difference(rounded.gate, precise.gate), 0.03);
  EXPECT_LT(difference(rounded.down, precise.down), 0.03);
  EXPECT_EQ(swiglu_apply(w, k.to(at::kBFloat16)).scalar_type(), at::kBFloat16);
}

TEST(FastWeight, BadShapesGetASentence) {
  const auto w = random_swiglu({2}, 3, 5, 4);
  const at::Tensor k = randn({2, 4, 3}), v = randn({2, 4, 4});
  const auto rates = random_rates({2, 4}, 3, 5, false);
  EXPECT_SENTENCE(swiglu_apply(w, randn({2, 4, 7})), "x has 7 channels but gate expects 3");
  EXPECT_SENTENCE(swiglu_apply(w, randn({3, 4, 3})), "must be equal");
  EXPECT_SENTENCE(swiglu_apply({w.gate, w.down, randn({2, 6, 3})}, k), "up has");
  EXPECT_SENTENCE(swiglu_apply({w.gate, randn({2, 4, 9}), w.up}, k), "down has shape");
  EXPECT_SENTENCE(swiglu_descent(w, k, randn({2, 4, 9}), rates), "v has 9 channels but down expects 4");
  EXPECT_SENTENCE(swiglu_descent(w, k, randn({2, 5, 4}), rates), "4 keys but 5 values");
  EXPECT_SENTENCE(swiglu_descent(w, k, v, {rates.gate, randn({2, 4, 2}), rates.up}),
                  "the rate of down has shape");
  EXPECT_SENTENCE(linear_apply(randn({3}), k), "expected [..., out, in]");
}

}  // namespace
}  // namespace lact::ttt
