// A LaCT layer takes a sequence in pieces of uneven length, as the tokens of a conversation arrive, and keeps
// what it remembers in a state that the caller owns. The pieces give the same numbers as the whole.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <lact/lact.h>

int main() {
  lact::use_threads(0);
  at::manual_seed(1);
  const at::NoGradGuard no_grad;

  // Window attention and fast weights over shared q, k, v; the fast weights are written by Muon with
  // momentum.
  constexpr int64_t kModelDim = 128, kTokens = 300, kChunk = 64, kWindow = 64;
  lact::models::HybridLayerConfig config;
  config.attention.num_heads = 4;
  config.memory.num_heads = 2;
  config.memory.update.muon = true;
  config.memory.update.momentum = true;
  const auto layer = lact::models::make_layer(kModelDim, config);

  const at::Tensor tokens = at::randn({1, kTokens, kModelDim});
  const at::Tensor whole = layer->forward(tokens, lact::causal_layout(kTokens, kChunk, kWindow));

  const auto state = layer->initial_state(/*batch=*/1);
  std::vector<at::Tensor> pieces;
  int64_t begin = 0;
  for (const int64_t length : {1, 63, 100, 7, 129}) {
    const auto layout = lact::causal_piece(begin, length, kChunk, kWindow);
    pieces.push_back(layer->advance(tokens.narrow(1, begin, length), layout, *state));
    begin += length;
  }

  const double difference = (at::cat(pieces, 1) - whole).abs().max().item<double>();
  fmt::print("{} tokens in {} pieces: the largest difference from the whole is {:.1e}\n", kTokens,
             pieces.size(), difference);
  return difference < 1e-4 ? 0 : 1;
}
