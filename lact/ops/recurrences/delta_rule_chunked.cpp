// The WY form. What the tokens of a chunk write, V̂, solves (I + M) V̂ = β (V - K S) with
// M = tril(β K Kᵀ, -1), so that V̂ = U - W S with the solutions U of β V and W of β K, and
//   O = Q S + tril(Q Kᵀ) V̂,   S' = S + Kᵀ V̂.
#include "lact/ops/recurrences/chunks.h"
#include "lact/ops/recurrences/paths.h"

namespace lact::ops::chunked {

RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale) {
  const at::ScalarType type = recurrence_type(v, beta, state);
  const at::Tensor queries = in_chunks(q, type) * scale, keys = in_chunks(k, type);
  const at::Tensor values = in_chunks(v, type), share = in_chunks(beta, type).unsqueeze(-1);
  const at::Tensor between = at::matmul(share * keys, keys.transpose(-1, -2)).tril(-1);
  const at::Tensor identity = at::eye(kChunk, between.options());
  const at::Tensor solved = at::linalg_solve_triangular(
      between + identity, share * at::cat({values, keys}, -1), /*upper=*/false, /*left=*/true,
      /*unitriangular=*/true);
  const at::Tensor u = solved.narrow(-1, 0, v.size(3)), w = solved.narrow(-1, v.size(3), k.size(3));
  const at::Tensor weights = at::matmul(queries, keys.transpose(-1, -2)).tril();
  return run_chunks(v, state.to(type), queries.size(2), [&](int64_t n, at::Tensor& s) {
    const at::Tensor written = u.select(2, n) - at::matmul(w.select(2, n), s);
    const at::Tensor rows = at::matmul(queries.select(2, n), s) + at::matmul(weights.select(2, n), written);
    s = s + at::matmul(keys.select(2, n).transpose(-1, -2), written);
    return rows;
  });
}

}  // namespace lact::ops::chunked
