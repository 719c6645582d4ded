#include "lact/ops/linear/compressed_linear.h"

#include <ATen/ATen.h>

#include "lact/base/options.h"
#include "lact/ops/dispatch/paths.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/instruction_sets.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::for_each_isa_and_pairs;

constexpr WeightFormat kWeightFormats[] = {WeightFormat::f32, WeightFormat::bf16, WeightFormat::int8};

/// What a product with this format may be off by, relative to the largest result, for float32 tokens.
double bound(WeightFormat format) {
  return format == WeightFormat::int8 ? 0.02 : format == WeightFormat::bf16 ? 0.005 : 1e-6;
}

at::Tensor exact(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor y = at::matmul(x.to(at::kDouble), weight.to(at::kDouble).t());
  return bias.defined() ? y + bias : y;
}

TEST(CompressedLinear, IsCloseToTheProductForAnyShape) {
  at::NoGradGuard no_grad;
  for_each_isa_and_pairs([](const std::string& name) {
    for (const auto format : kWeightFormats) {
      for (const auto& [out, in] : {std::pair{1, 1}, {7, 63}, {130, 192}, {33, 1000}}) {
        const at::Tensor weight = at::randn({out, in}), bias = at::randn({out});
        const CompressedWeight compressed(weight, format);
        for (const int64_t tokens : {1, 3, 8, 31, 33, 63}) {
          const at::Tensor x = at::randn({tokens, in});
          for (const auto& shift : {bias, at::Tensor()}) {
            const at::Tensor y = compressed_linear(x, compressed, shift);
            EXPECT_EQ(y.scalar_type(), at::kFloat);
            EXPECT_LT(difference(y, exact(x, weight, shift)), bound(format))
                << name << ", " << options::word_of(format) << ", " << tokens << " tokens, " << out << " x "
                << in;
            const at::Tensor half = compressed_linear(x.to(at::kBFloat16), compressed, shift);
            EXPECT_EQ(half.scalar_type(), at::kBFloat16);
            EXPECT_LT(difference(half, exact(x.to(at::kBFloat16), weight, shift)), bound(format) + 0.012);
          }
        }
      }
    }
  });
}

TEST(CompressedLinear, TakesTokensOfAnyLayout) {
  at::NoGradGuard no_grad;
  const at::Tensor weight = at::randn({40, 24});
  for (const auto format : kWeightFormats) {
    const CompressedWeight compressed(weight, format);
    const at::Tensor x = at::randn({24, 3, 2}).permute({2, 1, 0});
    EXPECT_TRUE(
        compressed_linear(x, compressed, {}).equal(compressed_linear(x.contiguous(), compressed, {})));
    EXPECT_EQ(compressed_linear(x[0][0], compressed, {}).sizes(), at::IntArrayRef({40}));
    EXPECT_EQ(compressed_linear(at::empty({0, 24}), compressed, {}).sizes(), at::IntArrayRef({0, 40}));
  }
}

TEST(CompressedLinear, AFewTokensAndManyAgree) {
  at::NoGradGuard no_grad;
  const at::Tensor weight = at::randn({100, 256}), x = at::randn({8, 256});
  for (const auto format : kWeightFormats) {
    const CompressedWeight compressed(weight, format);
    const at::Tensor fused = compressed_linear(x, compressed, {});
    set_fused_paths(false);
    const at::Tensor plain = compressed_linear(x, compressed, {});
    set_fused_paths(true);
    // Bytes for tokens too, against float32 tokens.
    EXPECT_LT(difference(fused, plain), format == WeightFormat::int8 ? 0.01 : 1e-6);
    EXPECT_TRUE(fused.equal(compressed_linear(x, compressed, {})));
  }
}

TEST(CompressedLinear, TakesFewerBytesAndSaysWhatWasLost) {
  const at::Tensor weight = at::randn({64, 512});
  const auto error = [&](WeightFormat format) {
    const CompressedWeight compressed(weight, format);
    const at::Tensor lost = compressed.widened(0, 64) - weight;
    EXPECT_NEAR(compressed.error().relative(), (lost.norm() / weight.norm()).item<double>(), 1e-6);
    return compressed.error().relative();
  };
  EXPECT_EQ(error(WeightFormat::f32), 0);
  EXPECT_LT(error(WeightFormat::bf16), 0.002);
  EXPECT_GT(error(WeightFormat::bf16), 0.0005);
  EXPECT_LT(error(WeightFormat::int8), 0.01);
  EXPECT_EQ(CompressedWeight(weight, WeightFormat::bf16).bytes(), 64 * 512 * 2);
  EXPECT_EQ(CompressedWeight(weight, WeightFormat::int8).bytes(), 64 * 512 + 64 * 4 * 4);
  EXPECT_EQ(CompressedWeight(at::zeros({3, 5}), WeightFormat::int8).error().relative(), 0);
  WeightError both{.lost = 1, .whole = 4};
  both += {.lost = 0, .whole = 12};
  EXPECT_EQ(both.relative(), 0.25);
}

TEST(CompressedLinear, LooksRowsUp) {
  const at::Tensor weight = at::randn({20, 70}), ids = at::randint(20, {2, 9}, at::kLong);
  for (const auto format : kWeightFormats) {
    const CompressedWeight compressed(weight, format);
    const at::Tensor found = compressed.look_up(ids);
    EXPECT_TRUE(found.equal(at::embedding(compressed.widened(0, 20), ids)));
    EXPECT_LT(difference(found, at::embedding(weight, ids)), bound(format));
  }
}

TEST(CompressedLinear, PlainWeightsAreMultipliedWhereTheyLie) {
  const at::Tensor weight = at::randn({50, 77}), bias = at::randn({50}), x = at::randn({2, 3, 77});
  EXPECT_FALSE(is_few_token_linear(x, weight));  // training
  at::NoGradGuard no_grad;
  ASSERT_TRUE(is_few_token_linear(x, weight));
  EXPECT_LT(difference(few_token_linear(x, weight, bias), exact(x, weight, bias)), 1e-6);
  EXPECT_FALSE(is_few_token_linear(at::randn({33, 77}), weight));
  EXPECT_FALSE(is_few_token_linear(x.to(at::kDouble), weight));
  EXPECT_FALSE(is_few_token_linear(x, weight.to(at::kDouble)));
}

TEST(CompressedLinear, MistakesAreSentences) {
  const CompressedWeight compressed(at::randn({4, 6}), WeightFormat::bf16);
  EXPECT_SENTENCE(compressed_linear(at::randn({2, 5}), compressed, {}), "expected [..., 6]");
  EXPECT_SENTENCE(compressed_linear(at::randn({2, 6}, at::kDouble), compressed, {}), "expected float32");
  EXPECT_SENTENCE(compressed_linear(at::randn({2, 6}).requires_grad_(), compressed, {}), "inference only");
  EXPECT_SENTENCE(CompressedWeight(at::randn({4}), WeightFormat::bf16), "expected a floating point matrix");
  for (const auto format : kWeightFormats) {
    EXPECT_SENTENCE(CompressedWeight(at::full({2, 3}, std::nan("")), format), "contains NaN");
  }
}

}  // namespace
}  // namespace lact::ops
