#include "lact/mixers/recurrent/mamba2_mixer.h"

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

constexpr int64_t kMixerDim = 6;

/// Heads that are wider together than the model.
std::shared_ptr<Mamba2Mixer> mixer(bool both_ways) {
  Mamba2MixerConfig config;
  config.num_heads = 2;
  config.head_dim = 5;
  config.step_shift = -1;
  config.both_ways = both_ways;
  return with_large_weights(std::make_shared<Mamba2Mixer>(kMixerDim, config));
}

TEST(Mamba2Mixer, OutputsDependOnExactlyTheTokensOfTheLayout) {
  at::manual_seed(1);
  for (const auto& layout :
       {causal_layout(9, 3, 3), views_layout(2, 2, 3), interleaved_layout(3, {1, 1, 2}, 2)}) {
    const auto layer = mixer(layout.unordered);
    expect_same_mask(measured_dependence([&](const at::Tensor& x) { return layer->forward(x, layout); },
                                         randn({1, layout.tokens, kMixerDim}), 1),
                     recurrence_mask(layout).logical_or(at::eye(layout.tokens, at::kBool)), "mamba2");
  }
}

TEST(Mamba2Mixer, ASceneThatWasReadIsRenderedViewByView) {
  at::manual_seed(2);
  const auto layer = mixer(true);
  const at::Tensor x = randn({2, 12, kMixerDim});
  const at::Tensor whole = layer->forward(x, views_layout(2, 2, 3));
  const auto state = layer->initial_state(2), loaded = layer->initial_state(2);
  EXPECT_LT(difference(layer->advance(x.slice(1, 0, 6), views_layout(2, 0, 3), *state), whole.slice(1, 0, 6)),
            1e-12);
  fill_state(*loaded, fields_of(*state));
  for (const int64_t first : {6, 9}) {
    const at::Tensor view = x.slice(1, first, first + 3);
    const at::Tensor drawn = layer->advance(view, views_layout(0, 1, 3), *state);
    EXPECT_LT(difference(drawn, whole.slice(1, first, first + 3)), 1e-12);
    EXPECT_TRUE(layer->advance(view, views_layout(0, 1, 3), *loaded).equal(drawn));
  }
}

TEST(Mamba2Mixer, PiecesOfATextEqualTheWhole) {
  at::manual_seed(3);
  const auto layer = mixer(false);
  const at::Tensor x = randn({1, 11, kMixerDim});
  const at::Tensor whole = layer->forward(x, causal_layout(11, 4, 4));
  const auto state = layer->initial_state(1);
  int64_t begin = 0;
  for (const int64_t length : {1, 6, 1, 3}) {
    const at::Tensor piece =
        layer->advance(x.slice(1, begin, begin + length), causal_piece(begin, length, 4, 4), *state);
    EXPECT_LT(difference(piece, whole.slice(1, begin, begin + length)), 1e-12);
    begin += length;
  }
}

TEST(Mamba2Mixer, GradientsMatchFiniteDifferences) {
  at::manual_seed(4);
  const auto layer = mixer(true);
  expect_gradients([&](const auto& x) { return layer->forward(x[0], views_layout(2, 1, 3)); },
                   {randn({1, 9, kMixerDim})}, 1e-6);
  for (const auto& item : layer->named_parameters()) EXPECT_TRUE(item.value().grad().defined()) << item.key();
}

TEST(Mamba2Mixer, RecomputedStepsAndBfloat16) {
  at::manual_seed(5);
  const auto layer = mixer(true);
  layer->to(at::kFloat);
  const at::Tensor x = at::randn({1, 9, kMixerDim});
  const auto gradient = [&](nn::Recompute what, at::ScalarType type) {
    layer->set_recompute(what);
    const at::Tensor leaf = x.clone().requires_grad_(true);
    layer->forward(leaf.to(type), views_layout(2, 1, 3)).to(at::kFloat).square().sum().backward();
    return leaf.grad();
  };
  const at::Tensor kept = gradient(nn::Recompute::none, at::kFloat);
  EXPECT_LT(difference(gradient(nn::Recompute::cheap, at::kFloat), kept), 1e-5);
  EXPECT_LT(difference(gradient(nn::Recompute::cheap, at::kBFloat16), kept), 0.2);
}

TEST(Mamba2Mixer, MistakesGetASentence) {
  Mamba2MixerConfig config;
  config.head_dim = 0;
  EXPECT_SENTENCE(Mamba2Mixer(kMixerDim, config), "8 heads of 0 channels");
  EXPECT_SENTENCE(mixer(true)->forward(randn({1, 4, kMixerDim}), causal_layout(4, 2, 2)), "have an order");
  EXPECT_SENTENCE(mixer(true)->forward(randn({1, 5, kMixerDim}), views_layout(2, 0, 2)),
                  "5 tokens but the layout is for 4");
}

}  // namespace
}  // namespace lact::recurrent
