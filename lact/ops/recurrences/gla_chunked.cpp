// With G the sums of g within a chunk, per channel:
//   A_ij = sum_a q_ia k_ja e^{G_ia - G_ja} (j <= i),   O = (Q * e^G) S + A V,   S' = e^Γ * S + (K * e^{Γ-G})ᵀ
//   V
// A product of e^G and e^-G would overflow. A chunk is therefore halved again and again: between the later
// half's queries and the earlier half's keys lies a token, and both differences from it are at most 0.
#include "lact/ops/recurrences/chunks.h"
#include "lact/ops/recurrences/paths.h"

namespace lact::ops::chunked {

namespace {

/// The lower triangle A [..., C, C] of q, k and the sums G [..., C, K].
at::Tensor decayed_products(const at::Tensor& q, const at::Tensor& k, const at::Tensor& sums) {
  // Blocks on the diagonal [..., C / size, size, size], at first of one token each.
  at::Tensor blocks = (q * k).sum(-1).unsqueeze(-1).unsqueeze(-1);
  for (int64_t size = 1; size < kChunk; size *= 2) {
    const auto half = [&](const at::Tensor& x, int64_t which) {
      return x.unflatten(-2, {kChunk / (2 * size), 2, size}).select(-3, which);
    };
    const at::Tensor between = half(sums, 1).narrow(-2, 0, 1);
    const at::Tensor later = half(q, 1) * (half(sums, 1) - between).exp();
    const at::Tensor earlier = half(k, 0) * (between - half(sums, 0)).exp();
    const at::Tensor pairs = blocks.unflatten(-3, {kChunk / (2 * size), 2});
    const at::Tensor first = pairs.select(-3, 0), second = pairs.select(-3, 1);
    blocks = at::cat({at::cat({first, at::zeros_like(first)}, -1),
                      at::cat({at::matmul(later, earlier.transpose(-1, -2)), second}, -1)},
                     -2);
  }
  return blocks.squeeze(-3);
}

}  // namespace

RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale) {
  const at::ScalarType type = recurrence_type(v, log_decay, state);
  const at::Tensor queries = in_chunks(q, type) * scale, keys = in_chunks(k, type);
  const at::Tensor values = in_chunks(v, type), sums = decay_sums(log_decay, type);
  const at::Tensor end = sums.narrow(-2, kChunk - 1, 1);
  const at::Tensor within = at::matmul(decayed_products(queries, keys, sums), values);
  const at::Tensor since_start = queries * sums.exp(), until_end = keys * (end - sums).exp();
  const at::Tensor whole = end.exp().transpose(-1, -2);  // [B, H, N, K, 1]
  return run_chunks(v, state.to(type), queries.size(2), [&](int64_t n, at::Tensor& s) {
    const at::Tensor rows = within.select(2, n) + at::matmul(since_start.select(2, n), s);
    s = whole.select(2, n) * s + at::matmul(until_end.select(2, n).transpose(-1, -2), values.select(2, n));
    return rows;
  });
}

}  // namespace lact::ops::chunked
