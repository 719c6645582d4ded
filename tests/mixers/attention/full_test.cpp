// Full attention over a text: the keys and values of all tokens are its state.
#include "lact/mixers/attention/full.h"

#include <ATen/ATen.h>

#include "lact/mixers/single.h"
#include "lact/ops/dispatch/paths.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"
#include "support/watched_memory.h"

namespace lact::attention {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

constexpr int64_t kDim = 12;

AttentionConfig plain_heads() {
  AttentionConfig config;
  config.num_heads = 2;
  return config;
}

AttentionConfig heads_with_rope() {
  AttentionConfig config = plain_heads();
  config.head_norm = true;
  config.rope = ops::RopeOptions{100};
  return config;
}

std::shared_ptr<SingleMixer> full_layer(int64_t conv_width = 0, int64_t model_dim = kDim) {
  at::manual_seed(3);
  ProjectionConfig projection;
  projection.conv_width = conv_width;
  auto layer = std::make_shared<SingleMixer>(model_dim, projection,
                                             std::make_shared<FullAttention>(model_dim, heads_with_rope()));
  at::NoGradGuard no_grad;
  for (auto& parameter : layer->parameters()) parameter.add_(at::randn_like(parameter) * 0.3);
  return layer;
}

/// The reference form while it lives.
struct OnlyReference {
  explicit OnlyReference(bool only) { ops::set_fused_paths(!only); }
  ~OnlyReference() { ops::set_fused_paths(true); }
};

FullState& cache_of(State& state) {
  auto* convolved = dynamic_cast<ConvolvedState*>(&state);
  return dynamic_cast<FullState&>(convolved != nullptr ? *convolved->core : state);
}

at::Tensor in_pieces(Mixer& layer, const at::Tensor& x, const std::vector<int64_t>& lengths, State& state) {
  std::vector<at::Tensor> outputs;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    outputs.push_back(
        layer.advance(x.slice(1, begin, begin + length), causal_piece(begin, length, 4, 2), state));
    begin += length;
  }
  EXPECT_EQ(begin, x.size(1));
  return at::cat(outputs, 1);
}

TEST(FullAttentionOfText, IsSoftmaxAttentionToEverythingBefore) {
  const int64_t tokens = 11;
  FullAttention core(kDim, plain_heads());
  const Projected in = {{}, randn({2, tokens, kDim}), randn({2, tokens, kDim}), randn({2, tokens, kDim})};
  // Chunk and window, which other mixers need, mean nothing to it.
  for (const auto& layout : {causal_layout(tokens, 4, 4), causal_layout(tokens, 3, 1)}) {
    const auto state = core.initial_state(2);
    const at::Tensor out = core.mix(in, layout, *state);
    const auto heads = [&](const at::Tensor& x) { return x.view({2, tokens, 2, 6}).transpose(1, 2); };
    const at::Tensor later = at::ones({tokens, tokens}, at::kBool).triu(1);
    const at::Tensor scores =
        (at::matmul(heads(in.q), heads(in.k).transpose(2, 3)) / std::sqrt(6.0)).masked_fill(later, -INFINITY);
    const at::Tensor expected = at::matmul(at::softmax(scores, -1), heads(in.v)).transpose(1, 2).flatten(2);
    EXPECT_LT(difference(out, expected), 1e-12);
  }
}

TEST(FullAttentionOfText, DependsOnAllTokensBefore) {
  for (const int64_t conv_width : {0, 3}) {
    const auto layer = full_layer(conv_width);
    layer->to(at::kDouble);
    const auto forward = [&](const at::Tensor& x) { return layer->forward(x, causal_layout(13, 5, 2)); };
    lact::testing::expect_same_mask(lact::testing::measured_dependence(forward, randn({1, 13, kDim}), 1),
                                    at::ones({13, 13}, at::kBool).tril(), "text");
  }
}

TEST(FullAttentionOfText, PiecesCutAnywhereEqualTheWhole) {
  const std::vector<std::vector<int64_t>> cuts = {
      {19}, {4, 4, 4, 4, 3}, {1, 18}, {3, 5, 1, 9, 1}, std::vector<int64_t>(19, 1)};
  for (const int64_t conv_width : {0, 3}) {
    const auto layer = full_layer(conv_width);
    for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16}) {
      if (type != at::kBFloat16) layer->to(type);
      const at::Tensor x = at::randn({2, 19, kDim}, type);
      const at::Tensor whole = layer->forward(x, causal_layout(19, 4, 2));
      for (const auto& cut : cuts) {
        const auto state = layer->initial_state(2);
        const double bound = type == at::kDouble ? 1e-12 : type == at::kFloat ? 1e-5 : 0.05;
        EXPECT_LT(difference(in_pieces(*layer, x, cut, *state), whole), bound) << cut.size() << " pieces";
        EXPECT_EQ(cache_of(*state).count(), 19);
      }
    }
  }
}

TEST(FullAttentionOfText, GradientsMatchFiniteDifferencesAndThoseOfPieces) {
  const auto layer = full_layer(3);
  layer->to(at::kDouble);
  const auto whole = [&](const auto& x) { return layer->forward(x[0], causal_layout(9, 3, 2)); };
  const auto pieces = [&](const auto& x) {
    const auto state = layer->initial_state(1);
    return in_pieces(*layer, x[0], {2, 4, 1, 2}, *state);
  };
  expect_gradients(whole, {randn({1, 9, kDim})}, 1e-4);
  expect_gradients(pieces, {randn({1, 9, kDim})}, 1e-4);
}

TEST(FullAttentionOfText, FusedEqualsTheReference) {
  const auto layer = full_layer(0, 48);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const int64_t tokens : {1, 63, 65, 300}) {
      const at::Tensor x = at::randn({1, tokens, 48}, type);
      const auto run = [&](bool fused) {
        const OnlyReference reference(!fused);
        at::Tensor input = x.detach().clone().requires_grad_(true);
        layer->zero_grad();
        const at::Tensor out = layer->forward(input, causal_layout(tokens, 16, 4));
        (out * at::linspace(-1, 1, tokens).view({1, -1, 1})).sum().backward();
        return std::vector<at::Tensor>{out.detach(), input.grad(),
                                       layer->parameters().front().grad().clone()};
      };
      const auto fused = run(true), reference = run(false);
      for (size_t i = 0; i < fused.size(); ++i)
        EXPECT_LT(difference(fused[i].to(at::kFloat), reference[i].to(at::kFloat)),
                  type == at::kFloat ? 1e-4 : 0.06)
            << tokens << " tokens, " << i;
    }
  }
}

// A matrix of 3000 x 3000 scores in float32 has 36 MB.
TEST(FullAttentionOfText, MakesNoMatrixOfAllPairs) {
  FullAttention core(32, plain_heads());
  const int64_t tokens = 3000;
  const auto state = core.initial_state(1);
  Projected in;
  for (at::Tensor* part : {&in.q, &in.k, &in.v}) *part = at::randn({1, tokens, 32}).requires_grad_(true);
  const lact::testing::WatchedMemory memory;
  core.mix(in, causal_layout(tokens, 512, 16), *state).sum().backward();
  EXPECT_LT(memory.peak_bytes(), 12e6);
}

TEST(FullAttentionOfText, ATokenIsAppendedWithoutCopyingTheOthers) {
  at::NoGradGuard no_grad;
  const auto layer = full_layer();
  const auto state = layer->initial_state(1);
  const at::Tensor x = at::randn({1, 300, kDim});
  layer->advance(x.slice(1, 0, 100), causal_piece(0, 100, 8, 4), *state);
  layer->advance(x.slice(1, 100, 101), causal_piece(100, 1, 8, 4), *state);
  const void* const place = cache_of(*state).k.numbers.data_ptr();
  for (int64_t i = 101; i < 300; ++i) {
    layer->advance(x.slice(1, i, i + 1), causal_piece(i, 1, 8, 4), *state);
    EXPECT_EQ(cache_of(*state).k.numbers.data_ptr(), place);
  }
}

TEST(FullAttentionOfText, AClonedStateGoesItsOwnWay) {
  at::NoGradGuard no_grad;
  const auto layer = full_layer(3);
  layer->to(at::kDouble);
  const at::Tensor x = randn({1, 9, kDim}), other = randn({1, 9, kDim});
  const auto state = layer->initial_state(1);
  layer->advance(x.slice(1, 0, 5), causal_piece(0, 5, 4, 2), *state);
  const auto copy = state->clone();
  layer->advance(other.slice(1, 5), causal_piece(5, 4, 4, 2), *copy);
  const at::Tensor rest = layer->advance(x.slice(1, 5), causal_piece(5, 4, 4, 2), *state);
  EXPECT_LT(difference(rest, layer->forward(x, causal_layout(9, 4, 2)).slice(1, 5)), 1e-12);
}

TEST(FullAttentionOfText, APieceThatDoesNotFollowIsASentence) {
  const auto layer = full_layer();
  const auto state = layer->initial_state(1);
  layer->advance(at::randn({1, 5, kDim}), causal_piece(0, 5, 4, 4), *state);
  EXPECT_SENTENCE(layer->advance(at::randn({1, 3, kDim}), causal_piece(7, 3, 4, 4), *state),
                  "the state ends at token 5 but the piece begins at 7");
}

TEST(FullAttentionOfText, KeepsItsTokensInFewerBytes) {
  at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({1, 40, kDim});
  const auto layer = full_layer();
  const at::Tensor whole = layer->forward(x, causal_layout(40, 8, 4));
  for (const auto format : {ops::CacheFormat::f32, ops::CacheFormat::bf16, ops::CacheFormat::int8}) {
    set_cache_below(*layer, format);
    const auto state = layer->initial_state(1);
    const at::Tensor found = in_pieces(*layer, x, {17, 1, 5, 1, 1, 15}, *state);
    EXPECT_LT(difference(found, whole), format == ops::CacheFormat::f32 ? 1e-5 : 0.03);
    EXPECT_EQ(cache_of(*state).k.numbers.element_size(), format == ops::CacheFormat::f32    ? 4
                                                         : format == ops::CacheFormat::bf16 ? 2
                                                                                            : 1);
  }
}

}  // namespace
}  // namespace lact::attention
