#include "lact/ops/attention/window_attention.h"

#include "lact/mixers/layout.h"
#include "lact/ops/attention/windows.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ops {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::expect_same_mask;
using lact::testing::measured_dependence;
using lact::testing::randn;

struct NamedWindow {
  std::string name;
  int64_t tokens;
  Window window;
};

std::vector<NamedWindow> windows() {
  return {
      {"sliding 5", 13, sliding_window({0, 13}, 5)},
      {"sliding 1", 7, sliding_window({0, 7}, 1)},
      {"sliding beyond the sequence", 9, sliding_window({0, 9}, 40)},
      {"keys that count otherwise",
       13,
       {{{{0, 4}, {{{3, 9}, 4, 5}}}, {{5, 9}, {{{0, 3}, 0}, {{4, 7}, 2, -3}}}}}},
      {"blocks", 12, block_window(12, 4)},
      {"video", 20, interleaved_layout(3, {1, 2, 2}, 1).window},
      {"video, two noisy copies, part of the clean chunk", 32, interleaved_layout(3, {1, 2, 2}, 2, 3).window},
      {"full, text", 13, full_window(causal_layout(13, 4, 4))},
      {"full, narrow window", 13, full_window(causal_layout(13, 5, 2))},
      {"full, video", 20, full_window(interleaved_layout(3, {1, 2, 2}, 1))},
      {"full, views", 15, full_window(views_layout(3, 2, 3))}};
}

/// Softmax attention with an explicit [T, T] mask; a row without keys gives zeros.
at::Tensor dense(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask) {
  const auto heads = [](const at::Tensor& x) { return x.transpose(1, 2); };
  at::Tensor scores = at::matmul(heads(q), heads(k).transpose(2, 3)) / std::sqrt(double(q.size(3)));
  scores = scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
  return heads(at::matmul(at::softmax(scores, -1).nan_to_num(), heads(v)));
}

TEST(WindowAttention, EqualsDenseAttentionWithTheSameMask) {
  at::manual_seed(1);
  for (const auto& [name, tokens, window] : windows()) {
    const at::Tensor q = randn({2, tokens, 3, 4}), k = randn({2, tokens, 3, 4}), v = randn({2, tokens, 3, 6});
    EXPECT_LT(difference(window_attention(q, k, v, window), dense(q, k, v, window_mask(window, tokens))),
              1e-12)
        << name;
  }
}

TEST(WindowAttention, LongSequencesAreTiledWithoutAChange) {
  at::manual_seed(2);
  for (const int64_t width : {3, 40, 200, 700}) {
    const at::Tensor q = randn({1, 611, 1, 4}), k = randn({1, 611, 1, 4}), v = randn({1, 611, 1, 4});
    const auto window = sliding_window({0, 611}, width);
    EXPECT_LT(difference(window_attention(q, k, v, window), dense(q, k, v, window_mask(window, 611))), 1e-12)
        << width;
  }
}

TEST(WindowAttention, OutputsDependOnExactlyTheKeysOfTheMask) {
  at::manual_seed(3);
  for (const auto& [name, tokens, window] : windows()) {
    const at::Tensor q = randn({1, tokens, 1, 4}), v = randn({1, tokens, 1, 4});
    const auto by_value = [&](const at::Tensor& value) { return window_attention(q, v, value, window); };
    expect_same_mask(measured_dependence(by_value, v, 1), window_mask(window, tokens), name);
  }
}

TEST(WindowAttention, QueriesOfALaterPieceSeeKeptKeys) {
  at::manual_seed(4);
  const at::Tensor q = randn({1, 20, 2, 4}), k = randn({1, 20, 2, 4}), v = randn({1, 20, 2, 4});
  const at::Tensor whole = window_attention(q, k, v, sliding_window({0, 20}, 6));
  // Tokens 12..19 come later; only keys from 7 on have been kept.
  const at::Tensor piece =
      window_attention(q.slice(1, 12), k.slice(1, 7), v.slice(1, 7), sliding_window({12, 20}, 6), 12, 7);
  EXPECT_LT(difference(piece, whole.slice(1, 12)), 1e-12);
}

TEST(WindowAttention, AQueryInNoBlockGivesZeros) {
  at::manual_seed(5);
  const at::Tensor x = randn({1, 6, 1, 4});
  const at::Tensor out = window_attention(x, x, x, {{{{2, 4}, {{{0, 6}}}}}});
  EXPECT_EQ(out.slice(1, 0, 2).abs().max().item<double>(), 0);
  EXPECT_EQ(out.slice(1, 4).abs().max().item<double>(), 0);
  EXPECT_GT(out.slice(1, 2, 4).abs().max().item<double>(), 0);
}

TEST(WindowAttention, MemoryGrowsWithTheWindowAndNotWithTheSquare) {
  // A million tokens would need 4 TB as one matrix; tiles of a narrow window need a few hundred MB.
  at::NoGradGuard no_grad;
  const int64_t tokens = 1 << 20;
  const at::Tensor x = at::ones({1, tokens, 1, 2});
  const at::Tensor out = window_attention(x, x, x, sliding_window({0, tokens}, 8));
  EXPECT_EQ(out.sum().item<float>(), 2.0f * tokens);
}

TEST(WindowAttention, GradientsMatchFiniteDifferences) {
  at::manual_seed(6);
  for (const auto& [name, tokens, window] : windows()) {
    if (tokens > 13) continue;
    SCOPED_TRACE(name);
    expect_gradients([&, &w = window](const auto& x) { return window_attention(x[0], x[1], x[2], w); },
                     {randn({1, tokens, 2, 3}), randn({1, tokens, 2, 3}), randn({1, tokens, 2, 3})});
  }
}

TEST(WindowAttention, Bfloat16IsClose) {
  at::manual_seed(7);
  const at::Tensor q = at::randn({1, 37, 2, 16}), k = at::randn({1, 37, 2, 16}),
                   v = at::randn({1, 37, 2, 16});
  const auto window = sliding_window({0, 37}, 9);
  const auto low = [](const at::Tensor& x) { return x.to(at::kBFloat16); };
  const at::Tensor rounded = window_attention(low(q), low(k), low(v), window);
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_LT(difference(rounded.to(at::kFloat), window_attention(q, k, v, window)), 0.03);
}

TEST(WindowAttention, BadInputGetsASentence) {
  const at::Tensor x = at::randn({1, 6, 2, 4});
  EXPECT_SENTENCE(window_attention(at::randn({1, 6, 6, 4}), x, x, {}), "q has 6 heads but k has 2");
  EXPECT_SENTENCE(window_attention(at::randn({1, 6, 2, 5}), x, x, {}), "q is 5 wide but k is 4");
  EXPECT_SENTENCE(window_attention(at::randn({2, 6, 2, 4}), x, x, {}), "q has batch 2 but k has 1");
  EXPECT_SENTENCE(window_attention(x[0], x, x, {}), "expected [B, T, H, D]");
  EXPECT_SENTENCE(window_attention(x, x, at::randn({1, 5, 2, 4}), {}), "k has shape");
  EXPECT_SENTENCE(window_attention(x, x, x, {{{{0, 7}, {{{0, 6}}}}}}), "the query range [0, 7) is outside");
  EXPECT_SENTENCE(window_attention(x, x, x, {{{{0, 3}, {{{0, 9}}}}}}), "the key range [0, 9) is outside");
  EXPECT_SENTENCE(window_attention(x, x, x, {{{{0, 4}, {{{0, 6}}}}, {{3, 6}, {{{0, 6}}}}}}), "overlap");
  EXPECT_SENTENCE(window_attention(x, x, x, {{{{0, 4}, {{{0, 4}}, {{2, 6}}}}}}), "overlap");
  EXPECT_SENTENCE(window_attention(x, x, x, {{{{2, 2}, {{{0, 6}}}}}}), "is empty");
  EXPECT_SENTENCE(sliding_window({0, 6}, 0), "expected at least 1");
  EXPECT_SENTENCE(block_window(10, 4), "do not divide");
}

}  // namespace
}  // namespace lact::ops
