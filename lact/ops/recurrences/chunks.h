// Cuts tokens into chunks for the differentiable forms of the recurrences.
#pragma once

#include <ATen/ATen.h>

#include "lact/ops/recurrences/recurrence.h"

namespace lact::ops::chunked {

constexpr int64_t kChunk = 64;

/// [B, H, T, ...] as [B, H, N, 64, ...] of the type, with zeros behind the last token: a token whose key and
/// gate are 0 changes nothing.
inline at::Tensor in_chunks(const at::Tensor& x, at::ScalarType type) {
  const int64_t tokens = x.size(2), chunks = (tokens + kChunk - 1) / kChunk;
  std::vector<int64_t> padding(size_t(2 * (x.dim() - 2)), 0);
  padding.back() = chunks * kChunk - tokens;
  return at::constant_pad_nd(x.to(type), padding).unflatten(2, {chunks, kChunk});
}

/// Sums of log decays within chunks: of those below e^-100 (in float64 e^-800) only that they leave nothing,
/// as their sums would leave later differences no digits.
inline at::Tensor decay_sums(const at::Tensor& log_decay, at::ScalarType type) {
  return in_chunks(log_decay, type).clamp_min(type == at::kDouble ? -800 : -100).cumsum(3);
}

/// Without gradients through exp of what is masked: e^0 = 1 below, e^-infinity = 0 above the diagonal.
inline at::Tensor causal_exp(const at::Tensor& differences) {
  const auto options = differences.options().dtype(at::kBool);
  const at::Tensor later = at::ones({kChunk, kChunk}, options).triu(1);
  return differences.masked_fill(later, -std::numeric_limits<double>::infinity()).exp();
}

/// Runs through the chunks: read_and_write(n, state) gives the rows [B, H, 64, V] that chunk n reads and sets
/// the state behind it.
template <class Chunk>
RecurrenceResult run_chunks(const at::Tensor& v, const at::Tensor& state, int64_t chunks,
                            const Chunk& read_and_write) {
  RecurrenceResult result = {{}, state};
  std::vector<at::Tensor> rows;
  for (int64_t n = 0; n < chunks; ++n) rows.push_back(read_and_write(n, result.state));
  result.out = at::cat(rows, 2).narrow(2, 0, v.size(2)).to(v.scalar_type());
  return result;
}

}  // namespace lact::ops::chunked
