#include <ATen/ATen.h>

#include <limits>

#include "lact/ops/attention/window_attention.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/tokens/assemble.h"

namespace lact::ops::reference {

namespace {

/// Queries that are worked on together. A banded range is cut into tiles no longer than its band, so that a
/// tile of n queries meets at most n + band keys; memory for the scores is then O(T · window).
int64_t tile_size(const AttentionBlock& block) {
  constexpr int64_t kSmallest = 32, kLargest = 512;
  int64_t size = block.queries.size();
  for (const auto& visible : block.keys) {
    if (visible.band > 0) size = std::min(size, std::clamp(visible.band, kSmallest, kLargest));
  }
  return size;
}

/// True where query i may not see key j: not (i - band < j <= i); [queries, keys].
at::Tensor outside_band(Range queries, Range keys, int64_t band, const at::TensorOptions& options) {
  const auto integers = options.dtype(at::kLong);
  const at::Tensor i = at::arange(queries.begin, queries.end, integers).unsqueeze(1);
  const at::Tensor j = at::arange(keys.begin, keys.end, integers).unsqueeze(0);
  return (j > i).logical_or(j <= i - band);
}

}  // namespace

at::Tensor window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Window& window, int64_t first_query, int64_t first_key) {
  const double scale = 1.0 / std::sqrt(double(q.size(3)));
  // [B, H, T, D]: heads become a batch of the matrix products.
  const at::Tensor queries = q.transpose(1, 2), keys = k.transpose(1, 2), values = v.transpose(1, 2);

  std::vector<std::pair<Range, at::Tensor>> outputs;
  for (const auto& block : window.blocks) {
    const int64_t step = tile_size(block);
    for (int64_t begin = block.queries.begin; begin < block.queries.end; begin += step) {
      const Range tile = {begin, std::min(begin + step, block.queries.end)};
      const at::Tensor tile_q = queries.narrow(2, tile.begin - first_query, tile.size());

      std::vector<at::Tensor> scores, seen_values;
      for (const auto& visible : block.keys) {
        const Range seen = visible.seen_by(tile);
        if (seen.empty()) continue;
        const at::Tensor seen_k = keys.narrow(2, seen.begin - first_key, seen.size());
        at::Tensor score = at_least_float(at::matmul(tile_q, seen_k.transpose(2, 3))) * scale;
        if (visible.band > 0) {
          const Range counted = {tile.begin + visible.ahead, tile.end + visible.ahead};
          score = score.masked_fill(outside_band(counted, seen, visible.band, q.options()),
                                    -std::numeric_limits<double>::infinity());
        }
        scores.push_back(score);
        seen_values.push_back(values.narrow(2, seen.begin - first_key, seen.size()));
      }
      if (scores.empty()) continue;
      const at::Tensor weights = at::softmax(at::cat(scores, 3), -1).to(v.scalar_type());
      outputs.emplace_back(tile, at::matmul(weights, at::cat(seen_values, 2)));
    }
  }
  return assemble(outputs, {first_query, first_query + q.size(1)}, 2,
                  at::zeros({q.size(0), q.size(2), 0, v.size(3)}, v.options()))
      .transpose(1, 2);
}

}  // namespace lact::ops::reference
