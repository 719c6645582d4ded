// With c the sums of g within a chunk:
//   O = e^c * (Q S) + ((Q Kᵀ) * e^{c_i - c_j}, j <= i) V,   S' = e^{c_C} S + (e^{c_C - c} * K)ᵀ V
#include "lact/ops/recurrences/chunks.h"
#include "lact/ops/recurrences/paths.h"

namespace lact::ops::chunked {

RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state) {
  const at::ScalarType type = recurrence_type(v, log_decay, state);
  const at::Tensor queries = in_chunks(q, type), keys = in_chunks(k, type), values = in_chunks(v, type);
  const at::Tensor sums = decay_sums(log_decay, type);  // [B, H, N, C]
  const at::Tensor end = sums.narrow(-1, kChunk - 1, 1);
  const at::Tensor weights =
      at::matmul(queries, keys.transpose(-1, -2)) * causal_exp(sums.unsqueeze(-1) - sums.unsqueeze(-2));
  const at::Tensor within = at::matmul(weights, values);
  const at::Tensor since_start = sums.exp().unsqueeze(-1), until_end = (end - sums).exp().unsqueeze(-1);
  const at::Tensor whole = end.exp().unsqueeze(-1);  // [B, H, N, 1, 1]
  return run_chunks(v, state.to(type), queries.size(2), [&](int64_t n, at::Tensor& s) {
    const at::Tensor rows =
        within.select(2, n) + since_start.select(2, n) * at::matmul(queries.select(2, n), s);
    const at::Tensor kept = until_end.select(2, n) * values.select(2, n);
    s = whole.select(2, n) * s + at::matmul(keys.select(2, n).transpose(-1, -2), kept);
    return rows;
  });
}

}  // namespace lact::ops::chunked
