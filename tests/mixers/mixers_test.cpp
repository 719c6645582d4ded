// What every layer must do, whatever it is made of.
#include <ATen/ATen.h>

#include "lact/models/common/layers.h"
#include "lact/ops/attention/windows.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::expect_same_mask;
using lact::testing::measured_dependence;
using lact::testing::randn;
using models::make_layer;

constexpr int64_t kDim = 12;

ttt::LactConfig memory_config(bool momentum, bool muon, ttt::NormPlacement placement) {
  ttt::LactConfig config;
  config.num_heads = 3;
  config.hidden_multiple = 1.5;
  config.update.momentum = momentum;
  config.update.muon = muon;
  config.update.norm_placement = placement;
  config.prepare_qk = {ttt::Preparation::silu, ttt::Preparation::l2_norm, ttt::Preparation::rope};
  config.rope_heads = 2;
  config.base_rate = 0.3;
  config.output_scale = ttt::OutputScale::per_head;
  return config;
}

std::vector<std::pair<std::string, ttt::LactConfig>> memories() {
  std::vector<std::pair<std::string, ttt::LactConfig>> all;
  for (const bool momentum : {false, true}) {
    for (const bool muon : {false, true}) {
      for (const auto placement : {ttt::NormPlacement::post, ttt::NormPlacement::pre}) {
        const std::string name = std::string(momentum ? "momentum " : "") + (muon ? "muon " : "gd ") +
                                 (placement == ttt::NormPlacement::post ? "post" : "pre");
        all.emplace_back(name, memory_config(momentum, muon, placement));
      }
    }
  }
  return all;
}

models::HybridLayerConfig hybrid(const ttt::LactConfig& memory) {
  models::HybridLayerConfig config;
  config.projection.qk_norm = true;
  config.attention.num_heads = 2;
  config.attention.rope = ops::RopeOptions{100};
  config.memory = memory;
  return config;
}

/// Large enough weights that every dependence shows.
template <class Layer>
std::shared_ptr<Layer> doubled(std::shared_ptr<Layer> layer) {
  at::NoGradGuard no_grad;
  layer->to(at::kDouble);
  for (auto& parameter : layer->parameters()) parameter.add_(at::randn_like(parameter) * 0.3);
  return layer;
}

at::Tensor in_pieces(Mixer& layer, const at::Tensor& x, const std::vector<int64_t>& lengths, int64_t chunk,
                     int64_t window) {
  const auto state = layer.initial_state(x.size(0));
  std::vector<at::Tensor> outputs;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    outputs.push_back(
        layer.advance(x.slice(1, begin, begin + length), causal_piece(begin, length, chunk, window), *state));
    begin += length;
  }
  EXPECT_EQ(begin, x.size(1));
  return at::cat(outputs, 1);
}

TEST(Mixers, AnyCutOfASequenceGivesTheNumbersOfTheWhole) {
  at::manual_seed(1);
  const at::Tensor x = randn({2, 19, kDim});
  const std::vector<std::vector<int64_t>> cuts = {
      {19}, {4, 4, 4, 4, 3}, {1, 18}, {3, 5, 1, 9, 1}, std::vector<int64_t>(19, 1)};
  for (const auto& [name, memory] : memories()) {
    const auto layer = doubled(make_layer(kDim, hybrid(memory)));
    const at::Tensor whole = layer->forward(x, causal_layout(19, 4, 6));
    for (const auto& cut : cuts) {
      EXPECT_LT(difference(in_pieces(*layer, x, cut, 4, 6), whole), 1e-11)
          << name << ", " << cut.size() << " pieces";
    }
  }
}

TEST(Mixers, AConvolutionSeesTheTokensBeforeACut) {
  at::manual_seed(16);
  const at::Tensor x = randn({2, 11, kDim});
  auto config = hybrid(memory_config(true, false, ttt::NormPlacement::post));
  config.projection.conv_width = 4;
  const auto layer = doubled(make_layer(kDim, config));
  const at::Tensor whole = layer->forward(x, causal_layout(11, 4, 6));
  for (const auto& cut : {std::vector<int64_t>{5, 6}, {1, 2, 1, 7}, std::vector<int64_t>(11, 1)})
    EXPECT_LT(difference(in_pieces(*layer, x, cut, 4, 6), whole), 1e-11) << cut.size() << " pieces";
}

TEST(Mixers, LactAloneStreamsToo) {
  at::manual_seed(2);
  const at::Tensor x = randn({1, 13, kDim});
  models::LactLayerConfig config;
  config.memory = memory_config(true, true, ttt::NormPlacement::post);
  const auto layer = doubled(make_layer(kDim, config));
  EXPECT_LT(difference(in_pieces(*layer, x, {2, 7, 4}, 5, 1), layer->forward(x, causal_layout(13, 5, 1))),
            1e-11);
}

TEST(Mixers, TheStateOfAStreamDoesNotGrow) {
  at::manual_seed(3);
  at::NoGradGuard no_grad;
  const auto layer = make_layer(kDim, hybrid(memory_config(true, true, ttt::NormPlacement::post)));
  const auto state = layer->initial_state(1);
  auto& parts = dynamic_cast<HybridState&>(*state);
  for (int64_t token = 0; token < 60; ++token) {
    layer->advance(at::randn({1, 1, kDim}), causal_piece(token, 1, 8, 5), *state);
    // Those before the unfinished chunk that its first token sees, and the chunk's own.
    const int64_t begun = (token + 1) % 8;
    EXPECT_LE(dynamic_cast<attention::AttentionState&>(*parts.attention).k.count(), 4 + begun);
    EXPECT_LT(dynamic_cast<ttt::LactState&>(*parts.memory).k.size(2), 8);
  }
}

TEST(Mixers, TwoStreamsDoNotTouchEachOther) {
  at::manual_seed(4);
  const auto layer = doubled(make_layer(kDim, hybrid(memory_config(true, false, ttt::NormPlacement::post))));
  const at::Tensor a = randn({1, 12, kDim}), b = randn({1, 12, kDim});
  const auto state_a = layer->initial_state(1), state_b = layer->initial_state(1);
  std::vector<at::Tensor> outputs_a, outputs_b;
  for (int64_t token = 0; token < 12; token += 3) {
    const auto layout = causal_piece(token, 3, 4, 4);
    outputs_a.push_back(layer->advance(a.slice(1, token, token + 3), layout, *state_a));
    outputs_b.push_back(layer->advance(b.slice(1, token, token + 3), layout, *state_b));
  }
  EXPECT_LT(difference(at::cat(outputs_a, 1), layer->forward(a, causal_layout(12, 4, 4))), 1e-11);
  EXPECT_LT(difference(at::cat(outputs_b, 1), layer->forward(b, causal_layout(12, 4, 4))), 1e-11);
}

TEST(Mixers, OutputsDependOnExactlyTheTokensOfTheLayout) {
  at::manual_seed(5);
  const std::vector<std::pair<std::string, SequenceLayout>> layouts = {
      {"text", causal_layout(13, 4, 4)},
      {"text, narrow window", causal_layout(13, 5, 2)},
      {"views", views_layout(2, 2, 3)},
      {"video", interleaved_layout(3, {1, 1, 3}, 1)},
      {"video, two copies", interleaved_layout(2, {1, 1, 3}, 2, 2)}};
  for (const auto& [name, layout] : layouts) {
    auto config = hybrid(memory_config(true, true, ttt::NormPlacement::post));
    if (layout.positions.size(1) == 3) config.attention.rope.reset(), config.memory.prepare_qk.pop_back();
    const auto layer = doubled(make_layer(kDim, config));
    const auto forward = [&, &layout = layout](const at::Tensor& x) { return layer->forward(x, layout); };
    // A token always depends on itself through its query.
    const at::Tensor itself = at::eye(layout.tokens, at::kBool);
    expect_same_mask(measured_dependence(forward, randn({1, layout.tokens, kDim}), 1),
                     layout_mask(layout).logical_or(itself), name);
  }
}

TEST(Mixers, FullAttentionIsAWindowOfTheSameLayer) {
  at::manual_seed(6);
  models::AttentionLayerConfig config;
  config.attention.num_heads = 2;
  const auto layer = doubled(make_layer(kDim, config));
  SequenceLayout layout = causal_layout(11, 3, 3);
  layout.window = full_window(layout);
  const auto forward = [&](const at::Tensor& x) { return layer->forward(x, layout); };
  expect_same_mask(measured_dependence(forward, randn({1, 11, kDim}), 1),
                   at::ones({11, 11}, at::kBool).tril(), "causal");
}

TEST(Mixers, FullAttentionSeesWhatTheLayoutLetsATokenKnow) {
  at::manual_seed(13);
  models::AttentionLayerConfig config;
  config.attention.num_heads = 2;
  config.attention.head_norm = true;
  const auto layer = doubled(models::make_full_layer(kDim, config));
  for (const auto& layout :
       {causal_layout(13, 4, 3), views_layout(2, 2, 3), interleaved_layout(3, {1, 1, 3}, 2)}) {
    const auto forward = [&](const at::Tensor& x) { return layer->forward(x, layout); };
    // A text is seen whole, also what has left the window and is not written yet.
    const at::Tensor expected = layout.unordered || layout.stretches.size() > 1
                                    ? layout_mask(layout).logical_or(at::eye(layout.tokens, at::kBool))
                                    : at::ones({layout.tokens, layout.tokens}, at::kBool).tril();
    expect_same_mask(measured_dependence(forward, randn({1, layout.tokens, kDim}), 1), expected,
                     "full attention");
  }
}

TEST(Mixers, FullAttentionRemembersWhatWasWritten) {
  at::manual_seed(14);
  models::AttentionLayerConfig config;
  config.attention.num_heads = 2;
  const auto layer = doubled(models::make_full_layer(kDim, config));
  const at::Tensor x = randn({2, 12, kDim});
  const at::Tensor whole = layer->forward(x, views_layout(2, 2, 3));
  const auto state = layer->initial_state(2);
  layer->advance(x.slice(1, 0, 6), views_layout(2, 0, 3), *state);
  for (const int64_t first : {6, 9}) {
    EXPECT_LT(difference(layer->advance(x.slice(1, first, first + 3), views_layout(0, 1, 3), *state),
                         whole.slice(1, first, first + 3)),
              1e-11);
  }
}

TEST(Mixers, FullAttentionOfAVideoInPiecesIsThatOfTheWhole) {
  at::manual_seed(17);
  models::AttentionLayerConfig config;
  config.attention.num_heads = 2;
  const auto layer = doubled(models::make_full_layer(kDim, config));
  constexpr ChunkGrid kGrid = {1, 2, 2};
  const at::Tensor x = randn({2, 5 * kGrid.tokens(), kDim});
  const at::Tensor whole = layer->forward(x, interleaved_layout(3, kGrid, 1));
  const auto state = layer->initial_state(2);
  for (int64_t part = 0; part < 5; ++part) {  // noisy, clean, noisy, ...
    const auto layout = part % 2 == 0 ? noisy_piece(part / 2, kGrid) : clean_piece(part / 2, kGrid);
    const auto of_part = [&](const at::Tensor& all) { return all.narrow(1, 4 * part, 4); };
    EXPECT_LT(difference(layer->advance(of_part(x), layout, *state), of_part(whole)), 1e-11) << part;
  }
}

TEST(Mixers, AWriteInPiecesIsTheWriteOfTheWhole) {
  at::manual_seed(15);
  std::vector<std::pair<std::string, std::shared_ptr<SingleMixer>>> layers;
  for (auto [name, memory] : memories()) {
    memory.prepare_qk.pop_back();  // the rotary embedding: these tokens have no order
    layers.emplace_back(name, doubled(make_layer(kDim, models::LactLayerConfig{{}, memory})));
  }
  models::AttentionLayerConfig attention;
  attention.attention.num_heads = 2;
  layers.emplace_back("full attention", doubled(models::make_full_layer(kDim, attention)));
  const at::Tensor x = randn({2, 15, kDim});
  for (const auto& [name, layer] : layers) {
    const at::Tensor whole = layer->forward(x, views_layout(4, 1, 3));
    const auto state = layer->initial_state(2);
    for (const auto& [first, views] : {std::pair{0, 1}, {3, 3}})
      layer->collect(x.slice(1, first, first + 3 * views), views_layout(0, views, 3), *state);
    layer->write_collected(*state);
    EXPECT_SENTENCE(layer->write_collected(*state), "nothing was collected");
    auto inputs = views_layout(0, 4, 3);
    inputs.window = {};
    EXPECT_LT(difference(layer->read(x.slice(1, 0, 12), inputs, *state), whole.slice(1, 0, 12)), 1e-11)
        << name;
    EXPECT_LT(
        difference(layer->read(x.slice(1, 12, 15), views_layout(0, 1, 3), *state), whole.slice(1, 12, 15)),
        1e-11)
        << name;
  }
}

TEST(Mixers, SamplesOfABatchAreIndependent) {
  at::manual_seed(7);
  const auto layer = doubled(make_layer(kDim, hybrid(memory_config(true, true, ttt::NormPlacement::post))));
  const at::Tensor x = randn({3, 9, kDim});
  const auto layout = causal_layout(9, 4, 4);
  const at::Tensor together = layer->forward(x, layout);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_LT(difference(together.slice(0, i, i + 1), layer->forward(x.slice(0, i, i + 1), layout)), 1e-11);
  }
}

TEST(Mixers, GradientsMatchFiniteDifferences) {
  at::manual_seed(8);
  for (const auto& [name, memory] : memories()) {
    SCOPED_TRACE(name);
    auto config = hybrid(memory);
    config.memory.initial_weights = {.rank = 2, .gain = 0.5};
    const auto layer = doubled(make_layer(kDim, config));
    const auto parameters = layer->named_parameters();
    expect_gradients([&](const auto& x) { return layer->forward(x[0], causal_layout(9, 3, 3)); },
                     {randn({1, 9, kDim})}, 1e-4);
    for (const auto& item : parameters) EXPECT_TRUE(item.value().grad().defined()) << item.key();
  }
}

TEST(Mixers, Bfloat16IsClose) {
  at::manual_seed(9);
  auto config = hybrid(memory_config(true, false, ttt::NormPlacement::post));
  const auto layer = make_layer(kDim, config);
  at::NoGradGuard no_grad;
  for (auto& parameter : layer->parameters()) parameter.add_(at::randn_like(parameter) * 0.2);
  const at::Tensor x = at::randn({1, 21, kDim});
  const at::Tensor precise = layer->forward(x, causal_layout(21, 4, 4));
  const at::Tensor rounded = layer->forward(x.to(at::kBFloat16), causal_layout(21, 4, 4));
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_LT(difference(rounded.to(at::kFloat), precise), 0.1);
}

TEST(Mixers, RescaledQAndKReachTheChosenSide) {
  at::manual_seed(10);
  const at::Tensor x = randn({1, 9, kDim});
  const auto layout = causal_layout(9, 3, 3);
  for (const auto side : {Rescaled::memory, Rescaled::attention}) {
    auto config = hybrid(memory_config(false, false, ttt::NormPlacement::post));
    config.rescaled = side;
    const auto layer = doubled(make_layer(kDim, config));
    at::NoGradGuard no_grad;
    const at::Tensor before = layer->forward(x, layout);
    // Attention without the memory: silence the memory's output and look for a change.
    for (auto& item : layer->named_parameters()) {
      if (item.key() == "memory.norm.weight") item.value().zero_();
    }
    const at::Tensor attention_only = layer->forward(x, layout);
    for (auto& item : layer->named_parameters()) {
      if (item.key() == "qk_scale") item.value().mul_(3);
    }
    const bool attention_changed = difference(layer->forward(x, layout), attention_only) > 1e-6;
    EXPECT_EQ(attention_changed, side == Rescaled::attention);
    EXPECT_GT(difference(before, attention_only), 1e-6);
  }
}

TEST(Mixers, ZeroScaleLeavesAttentionAlone) {
  at::manual_seed(11);
  auto config = hybrid(memory_config(false, false, ttt::NormPlacement::post));
  config.memory.output_scale = ttt::OutputScale::per_token;
  config.memory.zero_output_scale = true;
  config.rescaled = Rescaled::none;
  const auto with_memory = make_layer(kDim, config);
  const auto attention_only =
      make_layer(kDim, models::AttentionLayerConfig{config.projection, config.attention});
  at::NoGradGuard no_grad;
  for (auto& item : attention_only->named_parameters()) {
    item.value().copy_(with_memory->named_parameters()[item.key()]);
  }
  const at::Tensor x = at::randn({1, 9, kDim});
  EXPECT_LT(difference(with_memory->forward(x, causal_layout(9, 3, 3)),
                       attention_only->forward(x, causal_layout(9, 3, 3))),
            1e-6);
}

TEST(Mixers, InitialValuesFollowThePaper) {
  at::manual_seed(12);
  models::HybridLayerConfig config;
  config.memory.num_heads = 2;
  config.memory.hidden_multiple = 2;
  const auto layer = make_layer(256, config);
  const auto parameters = layer->named_parameters();
  const auto deviation = [&](const char* name) { return parameters[name].std().item<double>(); };
  EXPECT_NEAR(deviation("projection.qkv.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("memory.initial_weights.gate"), 1 / std::sqrt(128.0), 0.003);
  EXPECT_NEAR(deviation("memory.initial_weights.down"), 1 / std::sqrt(256.0), 0.003);
  EXPECT_TRUE(parameters["qk_scale"].equal(at::ones({2, 256})));
  EXPECT_TRUE(parameters["qk_shift"].equal(at::zeros({2, 256})));
  EXPECT_TRUE(parameters["memory.rate.bias"].equal(at::zeros({6})));
}

TEST(Mixers, LowRankWeightsBeginAtHalfAnIdentity) {
  at::manual_seed(13);
  ttt::InitialWeights weights({{"gate", 6, 4}, {"down", 4, 6, false}}, 2, {.rank = 1, .gain = 0});
  const auto matrices = weights.forward(3);
  EXPECT_EQ(matrices[0].sizes(), (std::vector<int64_t>{3, 2, 6, 4}));
  EXPECT_TRUE(matrices[0][2][1].equal(0.5 * at::eye(6, 4)));
  EXPECT_EQ(weights.named_parameters().keys(), (std::vector<std::string>{"gate_left", "gate_right", "down"}));
}

TEST(Mixers, MistakesGetASentence) {
  auto config = hybrid(memory_config(false, false, ttt::NormPlacement::post));
  config.memory.num_heads = 5;
  EXPECT_SENTENCE(make_layer(kDim, config), "5 heads do not divide the model width 12");
  config = hybrid(memory_config(false, false, ttt::NormPlacement::post));
  config.attention.num_heads = 7;
  EXPECT_SENTENCE(make_layer(kDim, config), "7 heads do not divide");
  config = hybrid(memory_config(false, false, ttt::NormPlacement::post));
  config.memory.hidden_multiple = 0.01;
  EXPECT_SENTENCE(make_layer(kDim, config), "no hidden channel");
  config.memory.hidden_multiple = 2;
  config.memory.rate_channels = 4;
  EXPECT_SENTENCE(make_layer(kDim, config), "rate_channels is 4, expected 1 or the 8 input channels of down");
  config.memory.rate_channels = 1;
  config.memory.base_rate = 0;
  EXPECT_SENTENCE(make_layer(kDim, config), "base_rate is 0");
  config.memory.base_rate = 0.1;
  const auto layer = make_layer(kDim, config);
  EXPECT_SENTENCE(layer->forward(at::randn({1, 5, kDim}), causal_layout(6, 2, 2)),
                  "the input has 5 tokens but the layout is for 6");
  EXPECT_SENTENCE(layer->forward(at::randn({1, 6, 11}), causal_layout(6, 2, 2)),
                  "the input is 11 wide, expected 12");
  EXPECT_SENTENCE(layer->forward(at::randn({6, kDim}), causal_layout(6, 2, 2)), "expected [B, T, M]");
  const auto state = layer->initial_state(1);
  layer->advance(at::randn({1, 5, kDim}), causal_piece(0, 5, 4, 4), *state);
  EXPECT_SENTENCE(layer->advance(at::randn({1, 3, kDim}), causal_piece(7, 3, 4, 4), *state),
                  "but the piece begins at 7");
}

}  // namespace
}  // namespace lact
