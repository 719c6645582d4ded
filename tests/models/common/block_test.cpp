#include "lact/models/common/block.h"

#include <ATen/ATen.h>

#include "lact/models/common/layers.h"
#include "support/gradients.h"

namespace lact::models {
namespace {

using lact::testing::difference;
using lact::testing::randn;

std::shared_ptr<Block> make_block(std::vector<std::shared_ptr<Mixer>> mixers) {
  auto block = std::make_shared<Block>(8, nn::NormOptions{}, std::move(mixers),
                                       nn::FeedForwardOptions{.hidden_dim = 16});
  block->to(at::kDouble);
  return block;
}

LactLayerConfig lact_layer() {
  LactLayerConfig config;
  config.memory.num_heads = 2;
  config.memory.update.momentum = true;
  return config;
}

AttentionLayerConfig attention_layer() {
  AttentionLayerConfig config;
  config.attention.num_heads = 2;
  return config;
}

TEST(Block, AddsEachPartToItsInput) {
  at::manual_seed(1);
  const auto mixer = make_layer(8, attention_layer());
  const auto block = make_block({mixer});
  const at::Tensor x = randn({1, 6, 8});
  const auto layout = causal_layout(6, 2, 2);
  const auto p = block->named_parameters();
  const auto normed = [&](const at::Tensor& in, const char* name) {
    return in * (in.square().mean(-1, true) + 1e-6).rsqrt() * p[name];
  };
  const at::Tensor mixed = x + mixer->forward(normed(x, "mixer0_norm.weight"), layout);
  const at::Tensor in = normed(mixed, "feed_forward_norm.weight");
  const at::Tensor hidden =
      at::silu(at::linear(in, p["feed_forward.gate.weight"])) * at::linear(in, p["feed_forward.up.weight"]);
  EXPECT_LT(difference(block->forward(x, layout), mixed + at::linear(hidden, p["feed_forward.down.weight"])),
            1e-12);
}

TEST(Block, StreamsThroughAllItsMixers) {
  at::manual_seed(2);
  const auto block = make_block({make_layer(8, attention_layer()), make_layer(8, lact_layer())});
  const at::Tensor x = randn({2, 11, 8});
  const at::Tensor whole = block->forward(x, causal_layout(11, 3, 4));
  const auto state = block->initial_state(2);
  std::vector<at::Tensor> parts;
  for (const auto& [begin, length] : {std::pair<int64_t, int64_t>{0, 4}, {4, 1}, {5, 6}}) {
    parts.push_back(
        block->advance(x.slice(1, begin, begin + length), causal_piece(begin, length, 3, 4), *state));
  }
  EXPECT_LT(difference(at::cat(parts, 1), whole), 1e-12);
}

}  // namespace
}  // namespace lact::models
