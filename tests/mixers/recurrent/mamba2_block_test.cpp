#include "lact/mixers/recurrent/mamba2_block.h"

#include <ATen/ATen.h>

#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/recurrent_layers.h"
#include "support/state_copy.h"

namespace lact::recurrent {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::expect_same_mask;
using lact::testing::fields_of;
using lact::testing::fill_state;
using lact::testing::measured_dependence;
using lact::testing::randn;
using lact::testing::with_large_weights;

constexpr int64_t kBlockDim = 6;

Mamba2BlockConfig small_block(bool both_ways) {
  Mamba2BlockConfig config;
  config.state_dim = 5;
  config.head_dim = 4;
  config.both_ways = both_ways;
  return config;
}

std::shared_ptr<ResidualMamba2Block> block(bool both_ways) {
  return with_large_weights(std::make_shared<ResidualMamba2Block>(kBlockDim, small_block(both_ways), 1e-5));
}

TEST(Mamba2Block, PiecesCutAnywhereEqualTheWhole) {
  at::manual_seed(1);
  const auto layer = block(false);
  const at::Tensor x = randn({2, 13, kBlockDim});
  const at::Tensor whole = layer->forward(x, causal_layout(13, 4, 4));
  const std::vector<std::vector<int64_t>> cuts = {{1, 12}, {2, 1, 7, 3}, std::vector<int64_t>(13, 1)};
  for (const auto& cut : cuts) {
    const auto state = layer->initial_state(2);
    int64_t begin = 0;
    for (const int64_t length : cut) {
      const at::Tensor piece =
          layer->advance(x.slice(1, begin, begin + length), causal_piece(begin, length, 4, 4), *state);
      EXPECT_LT(difference(piece, whole.slice(1, begin, begin + length)), 1e-12) << begin;
      begin += length;
    }
  }
}

TEST(Mamba2Block, OutputsDependOnExactlyTheTokensOfTheLayout) {
  at::manual_seed(2);
  for (const auto& layout :
       {causal_layout(9, 3, 3), views_layout(3, 0, 3), interleaved_layout(3, {1, 1, 2}, 2)}) {
    const auto layer = block(layout.unordered);
    expect_same_mask(measured_dependence([&](const at::Tensor& x) { return layer->forward(x, layout); },
                                         randn({1, layout.tokens, kBlockDim}), 1),
                     recurrence_mask(layout), "mamba2 block");
  }
}

TEST(Mamba2Block, AStateThatWasWrittenDownGoesOnBitByBit) {
  at::manual_seed(3);
  at::NoGradGuard no_grad;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto layer = block(false);
    layer->to(at::kFloat);
    const auto state = layer->initial_state(1), loaded = layer->initial_state(1);
    layer->advance(at::randn({1, 7, kBlockDim}).to(type), causal_piece(0, 7, 4, 4), *state);
    fill_state(*loaded, fields_of(*state));
    const at::Tensor more = at::randn({1, 5, kBlockDim}).to(type);
    const at::Tensor out = layer->advance(more, causal_piece(7, 5, 4, 4), *state);
    EXPECT_EQ(out.scalar_type(), type);
    EXPECT_TRUE(out.isfinite().all().item<bool>());
    EXPECT_TRUE(layer->advance(more, causal_piece(7, 5, 4, 4), *loaded).equal(out));
  }
}

TEST(Mamba2Block, GradientsMatchFiniteDifferences) {
  at::manual_seed(4);
  for (const auto& layout : {causal_layout(7, 3, 3), views_layout(2, 0, 4)}) {
    const auto layer = block(layout.unordered);
    expect_gradients([&](const auto& x) { return layer->forward(x[0], layout); },
                     {randn({1, layout.tokens, kBlockDim})}, 1e-6);
    for (const auto& item : layer->named_parameters())
      EXPECT_TRUE(item.value().grad().defined()) << item.key();
  }
}

TEST(Mamba2Block, Bfloat16IsClose) {
  at::manual_seed(5);
  at::NoGradGuard no_grad;
  const auto layer = block(true);
  layer->to(at::kFloat);
  const at::Tensor x = at::randn({1, 65, kBlockDim});
  const at::Tensor precise = layer->forward(x, views_layout(1, 0, 65));
  const at::Tensor rounded = layer->forward(x.to(at::kBFloat16), views_layout(1, 0, 65)).to(at::kFloat);
  EXPECT_LT((rounded - precise).norm().item<double>() / precise.norm().item<double>(), 0.03);
}

TEST(Mamba2Block, InitialValuesAreThePublishedOnes) {
  at::manual_seed(6);
  Mamba2BlockConfig config;
  config.head_dim = 2;
  const Mamba2Block layer(128, config);
  const auto parameters = layer.named_parameters();
  const at::Tensor step = at::softplus(parameters["scan0.step_bias"]);
  const at::Tensor decay = parameters["scan0.decay_log"].exp();
  EXPECT_GE(step.min().item<double>(), 0.99e-3);
  EXPECT_LE(step.max().item<double>(), 0.101);
  EXPECT_NEAR(step.log().mean().item<double>(), std::log(0.01), 0.3);
  EXPECT_GE(decay.min().item<double>(), 1);
  EXPECT_LE(decay.max().item<double>(), 16.001);
  EXPECT_NEAR(decay.mean().item<double>(), 8.5, 1.5);
  EXPECT_TRUE(parameters["scan0.skip"].equal(at::ones({128})));
}

TEST(Mamba2Block, MistakesGetASentence) {
  Mamba2BlockConfig config = small_block(false);
  config.head_dim = 5;
  EXPECT_SENTENCE(Mamba2Block(kBlockDim, config),
                  "heads of 5 channels do not divide 2 times the model width 6");
  config = small_block(false);
  config.conv_width = 0;
  EXPECT_SENTENCE(Mamba2Block(kBlockDim, config), "conv_width 0");
  EXPECT_SENTENCE(block(true)->forward(randn({1, 4, kBlockDim}), causal_layout(4, 2, 2)), "have an order");
  EXPECT_SENTENCE(block(false)->forward(randn({1, 6, kBlockDim}), views_layout(1, 1, 3)),
                  "tokens that only read have no place");
}

}  // namespace
}  // namespace lact::recurrent
