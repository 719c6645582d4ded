#include "lact/ops/attention/attention_sum.h"

#include <ATen/ATen.h>

#include "lact/ops/attention/window_attention.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ops {
namespace {

using lact::testing::difference;

struct Problem {
  at::Tensor q, k, v;
};

Problem problem(int64_t queries, int64_t keys, at::ScalarType type, double scale = 1) {
  at::manual_seed(5);
  const int64_t batch = 2, heads = 3, width = 32;
  return {(at::randn({batch, queries, heads, width}, at::kDouble) * scale).to(type),
          at::randn({batch, keys, heads, width}, at::kDouble).to(type),
          at::randn({batch, keys, heads, width}, at::kDouble).to(type)};
}

at::Tensor at_once(const Problem& in) {
  const Window all = {{{{0, in.q.size(1)}, {{{0, in.k.size(1)}}}}}};
  return reference::window_attention(in.q.to(at::kDouble), in.k.to(at::kDouble), in.v.to(at::kDouble), all, 0,
                                     0);
}

at::Tensor in_pieces(const Problem& in, const std::vector<int64_t>& lengths) {
  AttentionSum sum;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    add_attention(sum, in.q, in.k.narrow(1, begin, length), in.v.narrow(1, begin, length));
    begin += length;
  }
  EXPECT_EQ(begin, in.k.size(1));
  return sum.out;
}

TEST(AttentionSum, PiecesCutAnywhereEqualTheWhole) {
  for (const int64_t queries : {1, 3, 70}) {
    for (const auto& [type, tolerance] :
         {std::pair{at::kDouble, 1e-12}, {at::kFloat, 1e-5}, {at::kBFloat16, 3e-2}}) {
      const Problem in = problem(queries, 133, type);
      const at::Tensor expected = at_once(in);
      for (const std::vector<int64_t>& lengths :
           {std::vector<int64_t>{133}, {1, 132}, {64, 64, 5}, {40, 1, 1, 91}})
        EXPECT_LT(difference(in_pieces(in, lengths), expected), tolerance) << queries << " " << type;
    }
  }
}

TEST(AttentionSum, ScoresFarApartNeitherOverflowNorVanish) {
  Problem in = problem(7, 60, at::kFloat, 300);
  EXPECT_LT(difference(in_pieces(in, {20, 20, 20}), at_once(in)), 1e-4);
}

TEST(AttentionSum, FusedFindsWhatTheReferenceFinds) {
  for (const int64_t queries : {2, 33, 130}) {
    for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-5}, {at::kBFloat16, 2e-2}}) {
      const Problem in = problem(queries, 75, type);
      const AttentionSum fast = fused::attention_to_all(in.q, in.k, in.v);
      const AttentionSum plain = reference::attention_to_all(in.q, in.k, in.v);
      EXPECT_LT(difference(fast.out, plain.out), tolerance);
      EXPECT_LT(difference(fast.log_sums, plain.log_sums), tolerance);
      EXPECT_EQ(fast.out.scalar_type(), at::kFloat);
    }
  }
}

TEST(AttentionSum, MistakesAreSentences) {
  const Problem in = problem(2, 4, at::kFloat);
  AttentionSum sum;
  EXPECT_SENTENCE(add_attention(sum, in.q.narrow(2, 0, 2), in.k, in.v), "q has 2 heads but k has 3");
}

}  // namespace
}  // namespace lact::ops
