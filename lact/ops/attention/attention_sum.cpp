#include "lact/ops/attention/attention_sum.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "lact/ops/attention/window_attention.h"
#include "lact/ops/attention/window_attention_run.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

namespace {

Window all_see_all(int64_t queries, int64_t keys) { return {{{{0, queries}, {{{0, keys}}}}}}; }

/// [B, H, T] -> [B, T, H, 1]
at::Tensor by_row(const at::Tensor& per_query) { return per_query.transpose(1, 2).unsqueeze(3); }

}  // namespace

AttentionSum reference::attention_to_all(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const at::Tensor scores = at_least_float(at::matmul(q.transpose(1, 2), k.permute({0, 2, 3, 1}))) *
                            (1 / std::sqrt(double(q.size(3))));
  const at::Tensor log_sums = at::logsumexp(scores, {-1});
  const at::Tensor weights = (scores - log_sums.unsqueeze(3)).exp().to(v.scalar_type());
  return {at_least_float(at::matmul(weights, v.transpose(1, 2)).transpose(1, 2)), log_sums};
}

AttentionSum fused::attention_to_all(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const AttentionInputs in = {q, k, v, {}, {}};
  const at::Tensor log_sums = at::empty({in.batch(), in.num_heads(), in.num_queries()}, at::kFloat);
  const at::Tensor out = run_attention(in, {all_see_all(q.size(1), k.size(1)), 0, 0}, log_sums);
  return {at_least_float(out), log_sums * std::numbers::ln2};  // the kernels count in powers of 2
}

void add_attention(AttentionSum& sum, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  at::NoGradGuard no_grad;
  check_attention(q, k, v, all_see_all(q.size(1), k.size(1)), 0, 0);
  const AttentionSum piece = fused_paths() && fused::fits_window_attention(q, k, v)
                                 ? fused::attention_to_all(q, k, v)
                                 : reference::attention_to_all(q, k, v);
  if (!sum.out.defined()) {
    sum = piece;
    return;
  }
  join(sum, piece);
}

void join(AttentionSum& sum, const AttentionSum& piece) {
  // o = (e^a o_a + e^b o_b) / (e^a + e^b), with both exponents at most 0.
  const at::Tensor together = at::logaddexp(sum.log_sums, piece.log_sums);
  sum.out = sum.out * by_row((sum.log_sums - together).exp()) +
            piece.out * by_row((piece.log_sums - together).exp());
  sum.log_sums = together;
}

}  // namespace lact::ops
