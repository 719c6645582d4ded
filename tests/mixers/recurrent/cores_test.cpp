// What every recurrence must do as the core of a layer, alone and beside window attention, over the layouts
// of text, views and video.
#include <ATen/ATen.h>

#include "lact/ops/attention/windows.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/recurrent_layers.h"
#include "support/state_copy.h"

namespace lact {
namespace {

using lact::testing::alone;
using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::expect_same_mask;
using lact::testing::fields_of;
using lact::testing::fill_state;
using lact::testing::hybrid_of;
using lact::testing::measured_dependence;
using lact::testing::randn;
using lact::testing::recurrent_cores;

constexpr int64_t kCoreDim = lact::testing::kRecurrentDim;
constexpr int64_t kChunk = 4, kWindow = 5;

/// Each core in a layer of its own and beside window attention.
std::vector<std::pair<std::string, std::shared_ptr<Mixer>>> text_layers() {
  std::vector<std::pair<std::string, std::shared_ptr<Mixer>>> layers;
  for (const auto& [name, make] : recurrent_cores()) {
    layers.emplace_back(name, alone(make(false)));
    layers.emplace_back(name + " + window", hybrid_of(make(false)));
  }
  return layers;
}

at::Tensor read_in_pieces(Mixer& layer, const at::Tensor& x, const std::vector<int64_t>& lengths) {
  const auto state = layer.initial_state(x.size(0));
  std::vector<at::Tensor> outputs;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    outputs.push_back(layer.advance(x.slice(1, begin, begin + length),
                                    causal_piece(begin, length, kChunk, kWindow), *state));
    begin += length;
  }
  EXPECT_EQ(begin, x.size(1));
  return at::cat(outputs, 1);
}

TEST(RecurrentCores, PiecesCutAnywhereAndSingleTokensEqualTheWhole) {
  at::manual_seed(1);
  const at::Tensor x = randn({2, 19, kCoreDim});
  const std::vector<std::vector<int64_t>> cuts = {{19},    {4, 4, 4, 4, 3}, {1, 18},
                                                  {18, 1}, {3, 5, 1, 9, 1}, std::vector<int64_t>(19, 1)};
  for (const auto& [name, layer] : text_layers()) {
    const at::Tensor whole = layer->forward(x, causal_layout(19, kChunk, kWindow));
    for (const auto& cut : cuts) {
      EXPECT_LT(difference(read_in_pieces(*layer, x, cut), whole), 1e-11)
          << name << ", " << cut.size() << " pieces";
    }
  }
}

TEST(RecurrentCores, OutputsDependOnExactlyTheTokensOfTheLayout) {
  at::manual_seed(2);
  const std::vector<std::pair<std::string, SequenceLayout>> layouts = {
      {"text", causal_layout(11, 4, 3)},
      {"views", views_layout(2, 2, 3)},
      {"video", interleaved_layout(3, {1, 1, 3}, 1)},
      {"video, two copies", interleaved_layout(2, {1, 1, 3}, 2, 2)}};
  for (const auto& [kind, layout] : layouts) {
    const at::Tensor itself = at::eye(layout.tokens, at::kBool);
    const at::Tensor through_state = recurrence_mask(layout).logical_or(itself);
    const at::Tensor window = ops::window_mask(layout.window, layout.tokens);
    for (const auto& [name, make] : recurrent_cores()) {
      const auto dependence = [&, &seen = layout](Mixer& layer) {
        return measured_dependence([&](const at::Tensor& x) { return layer.forward(x, seen); },
                                   randn({1, seen.tokens, kCoreDim}), 1);
      };
      expect_same_mask(dependence(*alone(make(layout.unordered))), through_state, name + ", " + kind);
      // Not the hybrid's convolution, which would reach over the borders of views and chunks.
      attention::AttentionConfig attention;
      attention.num_heads = 2;
      const auto hybrid = lact::testing::with_large_weights(std::make_shared<HybridMixer>(
          kCoreDim, ProjectionConfig{}, attention, make(layout.unordered), Rescaled::memory));
      expect_same_mask(dependence(*hybrid), through_state.logical_or(window), name + " + window, " + kind);
    }
  }
}

TEST(RecurrentCores, OneDirectionOverViewsSeesWhatCameBefore) {
  at::manual_seed(3);
  const SequenceLayout layout = views_layout(2, 1, 3);
  SequenceLayout ordered = layout;
  ordered.unordered = false;
  for (const auto& [name, make] : recurrent_cores()) {
    const auto layer = alone(make(false));
    expect_same_mask(measured_dependence([&](const at::Tensor& x) { return layer->forward(x, layout); },
                                         randn({1, layout.tokens, kCoreDim}), 1),
                     recurrence_mask(ordered).logical_or(at::eye(layout.tokens, at::kBool)), name);
  }
}

TEST(RecurrentCores, ViewsThatAreReadOnceCanBeRenderedOneByOne) {
  at::manual_seed(4);
  const at::Tensor x = randn({2, 15, kCoreDim});
  for (const auto& [name, make] : recurrent_cores()) {
    const auto layer = alone(make(true));
    const at::Tensor whole = layer->forward(x, views_layout(3, 2, 3));
    const auto state = layer->initial_state(2);
    EXPECT_LT(
        difference(layer->advance(x.slice(1, 0, 9), views_layout(3, 0, 3), *state), whole.slice(1, 0, 9)),
        1e-11)
        << name;
    const auto before = fields_of(*state);
    for (const int64_t first : {12, 9}) {
      EXPECT_LT(difference(layer->advance(x.slice(1, first, first + 3), views_layout(0, 1, 3), *state),
                           whole.slice(1, first, first + 3)),
                1e-11)
          << name;
    }
    for (const auto& [field, value] : fields_of(*state)) EXPECT_TRUE(value.equal(before.at(field))) << name;
  }
}

TEST(RecurrentCores, BothDirectionsOfASetAreTheSamePassageTurnedAround) {
  at::manual_seed(5);
  const at::Tensor x = randn({1, 7, kCoreDim});
  for (const auto& [name, make] : recurrent_cores()) {
    // Turning the set around exchanges the directions, and their sum stays.
    const auto layer = alone(make(true));
    const auto layout = views_layout(7, 0, 1);
    EXPECT_LT(difference(layer->forward(x.flip(1), layout).flip(1), layer->forward(x, layout)), 1e-11)
        << name;
  }
}

TEST(RecurrentCores, AVideoBeingSampledEqualsTeacherForcing) {
  at::manual_seed(6);
  const ChunkGrid grid = {1, 1, 4};
  const at::Tensor x = randn({1, 20, kCoreDim});  // n1 c1 n2 c2 n3
  for (const auto& [name, make] : recurrent_cores()) {
    ProjectionConfig projection;
    attention::AttentionConfig attention;
    attention.num_heads = 2;
    const auto layer = lact::testing::with_large_weights(
        std::make_shared<HybridMixer>(kCoreDim, projection, attention, make(false), Rescaled::memory));
    const at::Tensor whole = layer->forward(x, interleaved_layout(3, grid, 1));
    const auto state = layer->initial_state(1);
    for (int64_t chunk = 0; chunk < 3; ++chunk) {
      const auto part = [&](const at::Tensor& all, bool clean) {
        const int64_t begin = 8 * chunk + (clean ? 4 : 0);
        return all.slice(1, begin, begin + 4);
      };
      const auto copy = state->clone();
      EXPECT_LT(
          difference(layer->advance(part(x, false), noisy_piece(chunk, grid), *copy), part(whole, false)),
          1e-11)
          << name;
      if (chunk == 2) break;
      EXPECT_LT(
          difference(layer->advance(part(x, true), clean_piece(chunk, grid), *state), part(whole, true)),
          1e-11)
          << name;
    }
  }
}

TEST(RecurrentCores, AStateThatWasWrittenDownGoesOnBitByBit) {
  at::manual_seed(7);
  at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({2, 14, kCoreDim}), more = at::randn({2, 5, kCoreDim});
  for (const auto& [name, layer] : text_layers()) {
    layer->to(at::kFloat);
    const auto state = layer->initial_state(2), loaded = layer->initial_state(2);
    layer->advance(x, causal_piece(0, 14, kChunk, kWindow), *state);
    fill_state(*loaded, fields_of(*state));
    const auto next = causal_piece(14, 5, kChunk, kWindow);
    EXPECT_TRUE(layer->advance(more, next, *loaded).equal(layer->advance(more, next, *state))) << name;
    const auto left = fields_of(*state), right = fields_of(*loaded);
    ASSERT_EQ(left.size(), right.size());
    for (const auto& [field, value] : left) EXPECT_TRUE(value.equal(right.at(field))) << name << " " << field;
  }
}

TEST(RecurrentCores, TheStateIsOneMatrixPerHeadAndDirectionWhateverWasRead) {
  at::manual_seed(8);
  at::NoGradGuard no_grad;
  for (const auto& [name, make] : recurrent_cores()) {
    for (const bool both_ways : {false, true}) {
      const auto core = make(both_ways);
      const auto state = core->initial_state(2);
      const auto numbers = [&] {
        int64_t count = 0;
        for (const auto& [field, value] : fields_of(*state)) {
          EXPECT_EQ(value.scalar_type(), at::kFloat);
          count += value.numel();
        }
        return count;
      };
      const int64_t first = numbers(), heads = fields_of(*state).at("memory").size(1);
      EXPECT_EQ(first, 2 * kCoreDim * kCoreDim / heads * (both_ways ? 2 : 1)) << name;
      const at::Tensor x = at::randn({2, 9, kCoreDim}).to(at::kBFloat16);
      core->mix({x, x, x, x}, both_ways ? views_layout(3, 0, 3) : causal_layout(9, 4, 4), *state);
      EXPECT_EQ(numbers(), first) << name;
    }
  }
}

TEST(RecurrentCores, AClonedStateGoesItsOwnWay) {
  at::manual_seed(9);
  const at::Tensor x = randn({1, 12, kCoreDim});
  for (const auto& [name, layer] : text_layers()) {
    const auto state = layer->initial_state(1);
    layer->advance(x.slice(1, 0, 6), causal_piece(0, 6, kChunk, kWindow), *state);
    const auto copy = state->clone();
    layer->advance(randn({1, 6, kCoreDim}), causal_piece(6, 6, kChunk, kWindow), *copy);
    const at::Tensor rest = layer->advance(x.slice(1, 6, 12), causal_piece(6, 6, kChunk, kWindow), *state);
    EXPECT_LT(difference(rest, layer->forward(x, causal_layout(12, kChunk, kWindow)).slice(1, 6, 12)), 1e-11)
        << name;
  }
}

TEST(RecurrentCores, SamplesOfABatchAreIndependent) {
  at::manual_seed(10);
  const at::Tensor x = randn({3, 9, kCoreDim});
  const auto layout = causal_layout(9, kChunk, kWindow);
  for (const auto& [name, layer] : text_layers()) {
    const at::Tensor together = layer->forward(x, layout);
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_LT(difference(together.slice(0, i, i + 1), layer->forward(x.slice(0, i, i + 1), layout)), 1e-11)
          << name;
    }
  }
}

TEST(RecurrentCores, GradientsMatchFiniteDifferences) {
  at::manual_seed(11);
  const std::vector<SequenceLayout> layouts = {causal_layout(7, 3, 3), views_layout(2, 1, 3),
                                               interleaved_layout(2, {1, 1, 3}, 2)};
  for (const auto& [name, make] : recurrent_cores()) {
    for (const auto& layout : layouts) {
      SCOPED_TRACE(name + ", " + std::to_string(layout.tokens) + " tokens");
      const auto layer = hybrid_of(make(layout.unordered), /*rope=*/false);
      expect_gradients([&](const auto& x) { return layer->forward(x[0], layout); },
                       {randn({1, layout.tokens, kCoreDim})}, 1e-5);
      for (const auto& item : layer->named_parameters())
        EXPECT_TRUE(item.value().grad().defined()) << item.key();
    }
  }
}

/// d loss / d parameters along a random direction, against a finite difference.
TEST(RecurrentCores, GradientsOfParametersMatchFiniteDifferences) {
  at::manual_seed(12);
  const auto layout = causal_layout(8, 3, 3);
  const at::Tensor x = randn({2, 8, kCoreDim}), weighting = randn({2, 8, kCoreDim});
  for (const auto& [name, make] : recurrent_cores()) {
    const auto layer = alone(make(false));
    const auto loss = [&] { return (layer->forward(x, layout) * weighting).sum(); };
    loss().backward();
    for (const auto& item : layer->named_parameters()) {
      at::NoGradGuard no_grad;
      at::Tensor parameter = item.value();
      const at::Tensor along = at::randn_like(parameter);
      const double analytic = (parameter.grad() * along).sum().item<double>(), step = 1e-6;
      parameter.add_(along * step);
      const double above = loss().item<double>();
      parameter.sub_(along * (2 * step));
      const double below = loss().item<double>();
      parameter.add_(along * step);
      const double numeric = (above - below) / (2 * step);
      EXPECT_NEAR(numeric, analytic, 1e-6 * std::max(1.0, std::abs(numeric))) << name << " " << item.key();
    }
  }
}

TEST(RecurrentCores, RecomputedStepsChangeNothing) {
  at::manual_seed(13);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const auto& [name, make] : recurrent_cores()) {
      for (const auto& layout : {causal_layout(9, 3, 3), views_layout(2, 1, 3)}) {
        const auto layer = alone(make(layout.unordered));
        layer->to(at::kFloat);
        const at::Tensor x = at::randn({2, 9, kCoreDim}), weighting = at::randn({2, 9, kCoreDim});
        const auto gradients = [&](nn::Recompute what) {
          nn::set_recompute_below(*layer, what);
          layer->zero_grad();
          const at::Tensor leaf = x.clone().requires_grad_(true);
          const at::Tensor out = layer->forward(leaf.to(type), layout);
          (out.to(at::kFloat) * weighting).sum().backward();
          std::vector<at::Tensor> all = {out.detach(), leaf.grad().clone()};
          for (const auto& parameter : layer->parameters()) all.push_back(parameter.grad().clone());
          return all;
        };
        const auto kept = gradients(nn::Recompute::none), again = gradients(nn::Recompute::cheap);
        ASSERT_EQ(kept.size(), again.size());
        for (size_t i = 0; i < kept.size(); ++i)
          EXPECT_LT(difference(again[i], kept[i]), 1e-5) << name << " " << i;
      }
    }
  }
}

TEST(RecurrentCores, Bfloat16IsClose) {
  at::manual_seed(14);
  at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({2, 65, kCoreDim});
  for (const auto& [name, layer] : text_layers()) {
    layer->to(at::kFloat);
    const at::Tensor precise = layer->forward(x, causal_layout(65, kChunk, kWindow));
    const at::Tensor rounded = layer->forward(x.to(at::kBFloat16), causal_layout(65, kChunk, kWindow));
    EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
    EXPECT_LT((rounded.to(at::kFloat) - precise).norm().item<double>() / precise.norm().item<double>(), 0.1)
        << name;
  }
}

// Gates and decays at both ends: nothing forgotten, everything forgotten, keys written once and twice over.
TEST(RecurrentCores, StayFiniteAtTheEndsOfTheirGates) {
  at::manual_seed(15);
  for (const auto& [name, make] : recurrent_cores()) {
    for (const double end : {-200., 0., 200.}) {
      const auto layer = alone(make(false));
      layer->to(at::kFloat);
      {
        at::NoGradGuard no_grad;
        for (auto& item : layer->named_parameters()) {
          const auto& key = item.key();
          if (key == "core.gate_up.bias") item.value().fill_(end);
          if (key == "core.beta.weight" || key == "core.step.weight") item.value().mul_(end);
        }
      }
      const at::Tensor x = at::randn({1, 130, kCoreDim}).to(at::kBFloat16).requires_grad_(true);
      const at::Tensor out = layer->forward(x, causal_layout(130, kChunk, kWindow));
      out.to(at::kFloat).square().sum().backward();
      EXPECT_TRUE(out.isfinite().all().item<bool>()) << name << " " << end;
      EXPECT_TRUE(x.grad().isfinite().all().item<bool>()) << name << " " << end;
      for (const auto& item : layer->named_parameters())
        EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << name << " " << end << item.key();
    }
  }
}

TEST(RecurrentCores, LongTextsInBfloat16StayFinite) {
  at::manual_seed(16);
  at::NoGradGuard no_grad;
  const int64_t length = 32768;
  const at::Tensor x = at::randn({1, length, kCoreDim}).to(at::kBFloat16);
  for (const auto& [name, make] : recurrent_cores()) {
    const auto layer = alone(make(false));
    layer->to(at::kFloat);
    const auto state = layer->initial_state(1);
    const at::Tensor out = layer->advance(x, causal_piece(0, length, kChunk, kWindow), *state);
    EXPECT_TRUE(out.isfinite().all().item<bool>()) << name;
    for (const auto& [field, value] : fields_of(*state))
      EXPECT_TRUE(value.isfinite().all().item<bool>()) << name << " " << field;
  }
}

TEST(RecurrentCores, AZeroScaleLeavesAttentionAlone) {
  at::manual_seed(17);
  at::NoGradGuard no_grad;
  recurrent::Mamba2Config config;
  config.num_heads = 2;
  config.output.scale = OutputScale::per_token;
  config.output.zero_scale = true;
  attention::AttentionConfig attention;
  attention.num_heads = 2;
  HybridMixer with_memory(kCoreDim, {}, attention, std::make_shared<recurrent::Mamba2>(kCoreDim, config),
                          Rescaled::none);
  HybridMixer window(kCoreDim, {}, attention, nullptr, Rescaled::none);
  for (auto& item : window.named_parameters()) item.value().copy_(with_memory.named_parameters()[item.key()]);
  const at::Tensor x = at::randn({1, 9, kCoreDim});
  const auto layout = causal_layout(9, 3, 3);
  EXPECT_TRUE(with_memory.forward(x, layout).equal(window.forward(x, layout)));
}

TEST(RecurrentCores, MistakesGetASentence) {
  recurrent::GlaConfig gla;
  gla.num_heads = 5;
  EXPECT_SENTENCE(recurrent::Gla(kCoreDim, gla), "5 heads do not divide the model width 12");
  gla.num_heads = 0;
  EXPECT_SENTENCE(recurrent::Gla(kCoreDim, gla), "0 heads do not divide");
  gla.num_heads = 3;
  gla.gate_rank = 0;
  EXPECT_SENTENCE(recurrent::Gla(kCoreDim, gla), "[gla] gate_rank is 0");
  gla.gate_rank = 2;
  gla.gate_divisor = 0;
  EXPECT_SENTENCE(recurrent::Gla(kCoreDim, gla), "[gla] gate_divisor is 0");
  recurrent::DeltaNetConfig delta;
  delta.num_heads = 7;
  EXPECT_SENTENCE(recurrent::DeltaNet(kCoreDim, delta), "7 heads do not divide");
  delta.num_heads = 3;
  delta.l2_epsilon = -1;
  EXPECT_SENTENCE(recurrent::DeltaNet(kCoreDim, delta), "[deltanet] l2_epsilon is -1");
  recurrent::Mamba2Config mamba;
  mamba.num_heads = -2;
  EXPECT_SENTENCE(recurrent::Mamba2(kCoreDim, mamba), "-2 heads do not divide");
  for (const auto& [name, make] : recurrent_cores()) {
    const auto layer = alone(make(true));
    EXPECT_SENTENCE(layer->forward(randn({1, 6, kCoreDim}), causal_layout(6, 2, 2)), "have an order");
    const auto state = layer->initial_state(2);
    EXPECT_SENTENCE(layer->advance(randn({1, 6, kCoreDim}), views_layout(2, 0, 3), *state),
                    "the state is of a batch of 2");
  }
}

}  // namespace
}  // namespace lact
