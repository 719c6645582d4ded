#include "lact/ops/newton_schulz/newton_schulz.h"

#include "lact/kernels/isa.h"

#include <limits>

#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

NewtonSchulzOptions five(Coefficients coefficients) { return {5, coefficients}; }

/// U diag(s) Vᵀ with given singular values.
at::Tensor with_singular_values(int64_t rows, int64_t cols, const at::Tensor& values) {
  const int64_t rank = values.size(0);
  const at::Tensor u = std::get<0>(at::linalg_qr(randn({rows, rank})));
  const at::Tensor v = std::get<0>(at::linalg_qr(randn({cols, rank})));
  return at::matmul(u * values, v.transpose(0, 1));
}

TEST(NewtonSchulz, BringsSingularValuesOfWellConditionedMatricesNearOne) {
  at::manual_seed(1);
  for (const auto coefficients : {Coefficients::fixed, Coefficients::variable}) {
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{16, 16}, {9, 21}, {33, 8}, {1, 5}, {5, 1}}) {
      const int64_t rank = std::min(rows, cols);
      const at::Tensor matrix = with_singular_values(rows, cols, at::linspace(0.3, 3.0, rank, at::kDouble));
      const at::Tensor values = at::linalg_svdvals(newton_schulz(matrix, five(coefficients)));
      EXPECT_GE(values.min().item<double>(), 0.6) << rows << " x " << cols;
      EXPECT_LE(values.max().item<double>(), 1.4) << rows << " x " << cols;
    }
  }
}

TEST(NewtonSchulz, KeepsSingularVectors) {
  at::manual_seed(2);
  const at::Tensor matrix = with_singular_values(7, 12, at::linspace(0.5, 2.0, 7, at::kDouble));
  const at::Tensor result = newton_schulz(matrix, five(Coefficients::fixed));
  // X Gᵀ is symmetric exactly if X and G share their singular vectors.
  const at::Tensor product = at::matmul(result, matrix.transpose(0, 1));
  EXPECT_LT(difference(product, product.transpose(0, 1)), 1e-12);
}

TEST(NewtonSchulz, TallMatrixIsTheTransposeOfTheWideOne) {
  at::manual_seed(3);
  const at::Tensor tall = randn({3, 20, 6});
  const auto options = five(Coefficients::variable);
  EXPECT_LT(
      difference(newton_schulz(tall, options).transpose(1, 2), newton_schulz(tall.transpose(1, 2), options)),
      1e-12);
}

TEST(NewtonSchulz, EveryMatrixOfABatchIsTreatedAlone) {
  at::manual_seed(4);
  const at::Tensor batch = randn({2, 3, 5, 8}) * at::tensor({1.0, 100.0, 1e-4}, at::kDouble).view({3, 1, 1});
  const auto options = five(Coefficients::fixed);
  const at::Tensor together = newton_schulz(batch, options);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j)
      EXPECT_LT(difference(together[i][j], newton_schulz(batch[i][j], options)), 1e-12);
  }
}

TEST(NewtonSchulz, ScaleDoesNotMatter) {
  at::manual_seed(5);
  const at::Tensor matrix = randn({6, 6});
  const auto options = five(Coefficients::fixed);
  EXPECT_LT(difference(newton_schulz(matrix * 1e6, options), newton_schulz(matrix, options)), 1e-6);
}

TEST(NewtonSchulz, StaysFiniteOnExtremeMatrices) {
  at::manual_seed(6);
  const at::Tensor rank_one = at::outer(at::randn({6}), at::randn({9}));
  const at::Tensor ordinary = at::randn({6, 9});
  const std::map<std::string, at::Tensor> matrices = {{"zero", at::zeros({6, 9})},
                                                      {"rank one", rank_one},
                                                      {"tiny", ordinary * 1e-30},
                                                      {"huge", ordinary * 1e30},
                                                      {"one huge entry", at::eye(6, 9) * 3e38}};
  for (const auto& [name, value] : matrices) {
    for (const auto coefficients : {Coefficients::fixed, Coefficients::variable}) {
      at::Tensor matrix = value.clone().requires_grad_(true);
      const at::Tensor result = newton_schulz(matrix, five(coefficients));
      EXPECT_TRUE(at::isfinite(result).all().item<bool>()) << name;
      EXPECT_LE(at::linalg_svdvals(result.detach()).max().item<float>(), 1.4) << name;
      result.sum().backward();
      EXPECT_TRUE(at::isfinite(matrix.grad()).all().item<bool>()) << "gradient, " << name;
    }
  }
  // Scaling before squaring keeps huge and ordinary matrices alike.
  EXPECT_LT(difference(newton_schulz(ordinary * 1e30, five(Coefficients::fixed)),
                       newton_schulz(ordinary, five(Coefficients::fixed))),
            1e-4);
}

TEST(NewtonSchulz, ZeroStepsDivideByTheFrobeniusNorm) {
  at::manual_seed(7);
  const at::Tensor matrix = randn({4, 6});
  EXPECT_LT(difference(newton_schulz(matrix, {.steps = 0}), matrix / (matrix.norm() + 1e-7)), 1e-12);
}

TEST(NewtonSchulz, StepsBeyondTheTableRepeatTheLastCoefficients) {
  EXPECT_EQ(newton_schulz_coefficients(Coefficients::variable, 4),
            newton_schulz_coefficients(Coefficients::variable, 9));
  EXPECT_NE(newton_schulz_coefficients(Coefficients::variable, 0),
            newton_schulz_coefficients(Coefficients::variable, 1));
  EXPECT_EQ(newton_schulz_coefficients(Coefficients::fixed, 0),
            newton_schulz_coefficients(Coefficients::fixed, 3));
}

TEST(NewtonSchulz, GradientsMatchFiniteDifferences) {
  at::manual_seed(8);
  for (const auto coefficients : {Coefficients::fixed, Coefficients::variable}) {
    for (const auto& sizes : {std::vector<int64_t>{2, 4, 4}, {2, 3, 6}, {2, 6, 3}}) {
      expect_gradients(
          [&](const auto& x) {
            return newton_schulz(x[0], {4, coefficients});
          },
          {randn(sizes)}, 1e-5);
    }
  }
}

TEST(NewtonSchulz, Bfloat16IterationIsClose) {
  at::manual_seed(9);
  const at::Tensor matrix = at::randn({3, 12, 12});
  auto options = five(Coefficients::fixed);
  const at::Tensor precise = newton_schulz(matrix, options);
  options.iteration_type = IterationType::bfloat16;
  const at::Tensor rounded = newton_schulz(matrix, options);
  EXPECT_EQ(rounded.scalar_type(), at::kFloat);
  EXPECT_LT(difference(rounded, precise), 0.15);
  EXPECT_GT(difference(rounded, precise), 1e-5);
}

TEST(NewtonSchulz, BadInputGetsASentence) {
  EXPECT_SENTENCE(newton_schulz(at::randn({5}), {}), "expected [..., rows, cols]");
  EXPECT_SENTENCE(newton_schulz(at::zeros({3, 3}, at::kLong), {}), "expected a floating point type");
  EXPECT_SENTENCE(newton_schulz(at::randn({3, 3}), {.steps = -1}), "steps is -1");
}

TEST(NewtonSchulz, FusedPathEqualsReference) {
  for (const auto& [rows, cols] :
       {std::pair{1, 1}, {3, 5}, {16, 16}, {32, 32}, {33, 17}, {40, 100}, {128, 64}, {96, 96}}) {
    for (const auto coefficients : {Coefficients::fixed, Coefficients::variable}) {
      const NewtonSchulzOptions options = {.coefficients = coefficients};
      at::Tensor x = at::randn({2, 3, rows, cols}, at::kFloat);
      x[0][0].zero_();  // a head without a gradient
      const at::Tensor weighting = at::randn_like(x);
      const auto value_and_gradient = [&](auto function) {
        const at::Tensor leaf = x.clone().requires_grad_(true);
        const at::Tensor y = function(leaf, options);
        (y * weighting).sum().backward();
        return std::pair(y.detach(), leaf.grad());
      };
      ASSERT_TRUE(fused::fits(x, options));
      const auto [value, gradient] = value_and_gradient(fused::newton_schulz);
      const auto [expected, expected_gradient] = value_and_gradient(reference::newton_schulz);
      EXPECT_LT(lact::testing::difference(value, expected), 1e-4) << rows << " x " << cols;
      if (rows == 1 && cols == 1) continue;  // a sign has no gradient
      // The zero matrix's gradient is 1 / epsilon times larger than the others'; each is compared by itself.
      for (int64_t i = 0; i < 6; ++i) {
        const at::Tensor own = gradient.flatten(0, 1)[i], other = expected_gradient.flatten(0, 1)[i];
        EXPECT_LT(lact::testing::difference(own, other), 2e-3) << rows << " x " << cols << ", matrix " << i;
      }
    }
  }
}

TEST(NewtonSchulz, Bfloat16MatricesTakeTheFusedPathInEveryArithmetic) {
  at::manual_seed(12);
  for (const bool pairs : {false, true}) {
    kernels::set_multiplies_pairs(pairs);
    for (const auto& [rows, cols] : {std::pair{40, 100}, {128, 64}}) {
      const at::Tensor x = at::randn({2, rows, cols}).to(at::kBFloat16), weighting = at::randn_like(x);
      ASSERT_TRUE(fused::fits(x, {}));
      const at::Tensor leaf = x.clone().requires_grad_(true);
      const at::Tensor precise = x.to(at::kDouble).requires_grad_(true);
      const at::Tensor found = newton_schulz(leaf, {}), wanted = reference::newton_schulz(precise, {});
      found.backward(weighting);
      wanted.backward(weighting.to(at::kDouble));
      EXPECT_EQ(found.scalar_type(), at::kBFloat16);
      EXPECT_EQ(leaf.grad().scalar_type(), at::kBFloat16);
      EXPECT_LT(difference(found.detach().to(at::kDouble), wanted.detach()), 0.08) << rows << ", " << pairs;
      EXPECT_LT(difference(leaf.grad().to(at::kDouble), precise.grad()), 0.15) << rows << ", " << pairs;
    }
  }
  kernels::set_multiplies_pairs(false);
}

/// Spectra on which rounding acts differently: Newton-Schulz lifts small singular values up to 490 times.
std::vector<std::pair<std::string, at::Tensor>> spectra(int64_t rank) {
  const at::Tensor index = at::arange(rank, at::kDouble);
  at::Tensor low_rank = at::zeros({rank}, at::kDouble);
  low_rank.slice(0, 0, rank / 8).fill_(1);
  return {{"flat", at::ones({rank}, at::kDouble)},
          {"1/i", 1 / (index + 1)},
          {"exponential", (-8 * index / double(rank)).exp()},
          {"four decades", at::pow(10.0, -4 * index / double(rank - 1))},
          {"one dominant", at::cat({at::ones({1}, at::kDouble), at::full({rank - 1}, 0.01, at::kDouble)})},
          {"rank / 8", low_rank}};
}

TEST(NewtonSchulz, PairsOfBfloat16KeepTheRunningIterateInFloat32) {
  at::manual_seed(4);
  const auto distance = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a.to(at::kDouble) - b).norm() / b.norm()).item<double>();
  };
  for (const auto& [name, values] : spectra(128)) {
    SCOPED_TRACE(name);
    const at::Tensor x = with_singular_values(128, 160, values),
                     weighting = at::randn({128, 160}, at::kDouble);
    const NewtonSchulzOptions options;
    const at::Tensor leaf = x.clone().requires_grad_(true);
    const at::Tensor wanted = reference::newton_schulz(leaf, options);
    wanted.backward(weighting);
    const at::Tensor single = x.to(at::kFloat).unsqueeze(0);
    for (const auto& [precision, value_bound, gradient_bound] :
         {std::tuple<fused::NewtonSchulzPrecision, double, double>{{false, at::kFloat}, 1e-4, 1e-3},
          {{true, at::kFloat}, 0.03, 0.15},
          {{true, at::kBFloat16}, 0.03, 0.2}}) {
      const auto [result, iterates] = fused::newton_schulz_forward(single, options, precision, true);
      const at::Tensor gradient = fused::newton_schulz_backward(
          single, iterates, weighting.to(at::kFloat).unsqueeze(0), options, precision);
      EXPECT_LT(distance(result[0], wanted.detach()), value_bound);
      EXPECT_LT(distance(gradient[0], leaf.grad()), gradient_bound);
    }
  }
}

TEST(NewtonSchulz, TinyAndHugeMatricesOfPairsGiveTheResultOfOrdinaryOnes) {
  at::manual_seed(10);
  const NewtonSchulzOptions options;
  const fused::NewtonSchulzPrecision pairs = {true, at::kBFloat16};
  for (const auto& [name, values] : spectra(64)) {
    SCOPED_TRACE(name);
    const at::Tensor x = with_singular_values(64, 96, values).to(at::kFloat).unsqueeze(0),
                     weighting = at::randn({1, 64, 96});
    const auto value_and_gradient = [&](double scale) {
      const at::Tensor scaled = x * scale;
      const auto [value, iterates] = fused::newton_schulz_forward(scaled, options, pairs, true);
      return std::pair(value, fused::newton_schulz_backward(scaled, iterates, weighting, options, pairs));
    };
    const auto [wanted, wanted_gradient] = value_and_gradient(1);
    const auto [huge, huge_gradient] = value_and_gradient(1e20);
    EXPECT_LT(difference(huge, wanted), 0.05);
    EXPECT_LT(difference(huge_gradient * 1e20, wanted_gradient), 0.1);
    // The norm is far below epsilon: what is left is the scaled matrix itself, raised by a³ at most.
    const auto [tiny, tiny_gradient] = value_and_gradient(1e-20);
    EXPECT_TRUE(at::isfinite(tiny).all().item<bool>());
    EXPECT_TRUE(at::isfinite(tiny_gradient).all().item<bool>());
    const at::Tensor truth = reference::newton_schulz(x.to(at::kDouble) * 1e-20, options);
    EXPECT_LT(difference(tiny, truth), 0.02);
  }
}

}  // namespace
}  // namespace lact::ops
