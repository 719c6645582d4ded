#include "lact/ops/linear/linear.h"

#include <ATen/Parallel.h>

#include "lact/kernels/isa.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/linear/matrix_product.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/instruction_sets.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::for_each_isa_and_pairs;
using lact::testing::randn;

// bfloat16 keeps 8 bits: a result within half of the last, 2^-9, and operands rounded as much with pairs.
constexpr double kFloatBound = 2e-6, kBfloatBound = 1e-2;

struct Results {
  at::Tensor y, dx, dweight, dbias;
};

using Path = at::Tensor (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&);

Results run(Path path, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
            const at::Tensor& dy) {
  const auto leaf = [](const at::Tensor& value) {
    return value.defined() ? value.detach().requires_grad_(true) : value;
  };
  const at::Tensor own_x = leaf(x), own_weight = leaf(weight), own_bias = leaf(bias);
  const at::Tensor y = path(own_x, own_weight, own_bias);
  y.backward(dy.to(y.scalar_type()));
  return {y.detach(), own_x.grad(), own_weight.grad(), bias.defined() ? own_bias.grad() : at::Tensor()};
}

at::Tensor doubled(const at::Tensor& x) { return x.defined() ? x.to(at::kDouble) : x; }

/// The fused path against the reference in float64 on the same numbers.
void expect_same(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  auto sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  const at::Tensor dy = randn(sizes).to(x.scalar_type());
  const Results ours = run(fused::linear, x, weight, bias, dy);
  const Results truth =
      run(reference::linear, doubled(x), doubled(weight), doubled(bias), dy.to(at::kDouble));
  const double bound = x.scalar_type() == at::kFloat ? kFloatBound : kBfloatBound;
  EXPECT_LT(difference(ours.y, truth.y), bound);
  EXPECT_LT(difference(ours.dx, truth.dx), bound);
  EXPECT_LT(difference(ours.dweight, truth.dweight), kFloatBound) << "float32 sums of exact products";
  EXPECT_EQ(ours.y.scalar_type(), x.scalar_type());
  EXPECT_EQ(ours.dx.scalar_type(), x.scalar_type());
  EXPECT_EQ(ours.dweight.scalar_type(), weight.scalar_type());
  if (bias.defined()) {
    EXPECT_LT(difference(ours.dbias, truth.dbias), kFloatBound);
  }
}

struct Shape {
  int64_t tokens, in, out;
};

TEST(Linear, ValuesAndGradientsOfRaggedShapes) {
  for_each_isa_and_pairs([](const std::string& isa) {
    SCOPED_TRACE(isa);
    at::manual_seed(1);  // the same numbers for each: one of them alone can happen to cancel with its bias
    for (const auto& [tokens, in, out] : {Shape{1, 1, 1}, {7, 33, 32}, {63, 40, 70}, {100, 17, 97}}) {
      for (const auto type : {at::kFloat, at::kBFloat16}) {
        for (const bool with_bias : {false, true}) {
          SCOPED_TRACE(std::to_string(tokens) + " x " + std::to_string(in) + " -> " + std::to_string(out));
          const at::Tensor bias = with_bias ? randn({out}).to(at::kFloat) : at::Tensor();
          expect_same(randn({tokens, in}).to(type), randn({out, in}).to(at::kFloat), bias);
        }
      }
    }
  });
}

TEST(Linear, SeveralBlocksOfEveryKind) {
  at::manual_seed(2);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const bool pairs : {false, true}) {
      kernels::set_multiplies_pairs(pairs);
      expect_same(randn({1000, 1601}).to(type), randn({300, 1601}).to(at::kFloat), at::Tensor());
      expect_same(randn({1700, 64}).to(type), randn({1650, 64}).to(at::kFloat), randn({1650}).to(at::kFloat));
    }
  }
  kernels::set_multiplies_pairs(false);
}

TEST(Linear, RowsAMultipleOfThePageApart) {
  at::manual_seed(3);
  expect_same(randn({70, 1024}).to(at::kFloat), randn({40, 1024}).to(at::kFloat), at::Tensor());
}

TEST(Linear, ReadsSlicesTransposedInputsAndBatches) {
  at::manual_seed(4);
  const at::Tensor weight = randn({48, 40}).to(at::kFloat), bias = randn({48}).to(at::kFloat);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const bool pairs : {false, true}) {
      kernels::set_multiplies_pairs(pairs);
      expect_same(randn({2, 25, 121}).to(type).slice(2, 41, 81), weight, bias);
      expect_same(randn({40, 50}).to(type).t(), weight, bias);
      expect_same(randn({3, 40, 20}).to(type).transpose(1, 2), weight, bias);
      expect_same(randn({40}).to(type).expand({33, 40}), weight, bias);
      expect_same(randn({2, 3, 4, 40}).to(type), randn({40, 48}).to(at::kFloat).t(), bias);
    }
  }
  kernels::set_multiplies_pairs(false);
}

TEST(Linear, ChoosesByTypeAndSize) {
  at::manual_seed(5);
  const at::Tensor weight = randn({64, 64}).to(at::kFloat);
  const auto fits = [&](const at::Tensor& x) { return fused::fits_linear(x, weight, at::Tensor()); };
  EXPECT_TRUE(fits(randn({256, 64}).to(at::kFloat)));
  EXPECT_TRUE(fits(randn({256, 64}).to(at::kBFloat16)));
  EXPECT_FALSE(fits(randn({256, 64})));
  EXPECT_FALSE(fits(randn({1, 64}).to(at::kFloat)));
  for (const int64_t tokens : {0, 1, 300}) {
    for (const auto type : {at::kFloat, at::kDouble}) {
      const at::Tensor x = randn({tokens, 64}).to(type), dy = randn({tokens, 64});
      const Results ours =
          run([](const auto& x, const auto& weight, const auto& bias) { return linear(x, weight, bias); }, x,
              weight, at::Tensor(), dy);
      EXPECT_EQ(ours.y.sizes(), x.sizes());
      EXPECT_EQ(ours.y.scalar_type(), type);
      EXPECT_LT(difference(ours.dweight, at::matmul(dy.t(), x.to(at::kDouble))), kFloatBound);
    }
  }
}

TEST(Linear, OnlyWantedGradients) {
  at::manual_seed(6);
  const at::Tensor x = randn({64, 32}).to(at::kFloat), weight = randn({48, 32}).to(at::kFloat),
                   bias = randn({48}).to(at::kFloat);
  for (int wanted = 0; wanted < 8; ++wanted) {
    const at::Tensor own_x = x.clone().requires_grad_(wanted & 1),
                     own_weight = weight.clone().requires_grad_(wanted & 2),
                     own_bias = bias.clone().requires_grad_(wanted & 4);
    const at::Tensor y = fused::linear(own_x, own_weight, own_bias);
    EXPECT_EQ(y.requires_grad(), wanted != 0);
    if (wanted == 0) continue;
    y.sum().backward();
    EXPECT_EQ(own_x.grad().defined(), bool(wanted & 1));
    EXPECT_EQ(own_weight.grad().defined(), bool(wanted & 2));
    EXPECT_EQ(own_bias.grad().defined(), bool(wanted & 4));
  }
  at::NoGradGuard no_grad;
  EXPECT_FALSE(fused::linear(x.clone().requires_grad_(true), weight, bias).requires_grad());
}

TEST(Linear, SameBitsTwiceAndWithAnyNumberOfThreads) {
  at::manual_seed(7);
  const at::Tensor x = randn({900, 130}).to(at::kBFloat16), weight = randn({700, 130}).to(at::kFloat),
                   dy = randn({900, 700});
  const int threads = at::get_num_threads();
  const Results first = run(fused::linear, x, weight, at::Tensor(), dy);
  for (const int count : {1, 2, threads}) {
    at::set_num_threads(count);
    const Results again = run(fused::linear, x, weight, at::Tensor(), dy);
    EXPECT_TRUE(at::equal(first.y, again.y));
    EXPECT_TRUE(at::equal(first.dx, again.dx));
    EXPECT_TRUE(at::equal(first.dweight, again.dweight));
  }
  at::set_num_threads(threads);
}

TEST(Linear, SaysWhatDoesNotFit) {
  EXPECT_SENTENCE(linear(randn({4, 3}), randn({5, 4}), at::Tensor()), "[..., 4]");
  EXPECT_SENTENCE(linear(randn({4, 4}), randn({5, 4}), randn({4})), "expected [5]");
}

TEST(MatrixProduct, AddsToWhatIsThere) {
  at::manual_seed(8);
  for_each_isa_and_pairs([](const std::string& isa) {
    SCOPED_TRACE(isa);
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor a = randn({75, 900}).to(type), b = randn({90, 900}).to(type).t();
      const at::Tensor wide = randn({75, 100}).to(at::kFloat), start = wide.clone();
      const at::Tensor bias = randn({90}).to(at::kFloat);
      multiply(wide.slice(1, 5, 95), a, b, {.accumulate = true, .bias = bias});
      const at::Tensor truth =
          at::matmul(a.to(at::kDouble), b.to(at::kDouble)) + start.slice(1, 5, 95) + bias;
      EXPECT_LT(difference(wide.slice(1, 5, 95), truth), kFloatBound);
      EXPECT_TRUE(at::equal(wide.slice(1, 0, 5), start.slice(1, 0, 5)));
      EXPECT_TRUE(at::equal(wide.slice(1, 95, 100), start.slice(1, 95, 100)));
    }
  });
}

TEST(MatrixProduct, EmptyOperands) {
  const at::Tensor out = at::ones({3, 4});
  multiply(out, at::empty({3, 0}), at::empty({0, 4}), {.accumulate = true});
  EXPECT_TRUE(at::equal(out, at::ones({3, 4})));
  multiply(out, at::empty({3, 0}), at::empty({0, 4}));
  EXPECT_TRUE(at::equal(out, at::zeros({3, 4})));
  EXPECT_EQ(product(at::empty({0, 5}), at::empty({5, 4}), at::kFloat).size(0), 0);
  EXPECT_SENTENCE(multiply(out, at::empty({3, 2}), at::empty({3, 4})), "[multiply]");
}

}  // namespace
}  // namespace lact::ops
