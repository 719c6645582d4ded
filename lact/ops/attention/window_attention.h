// Softmax attention in which every query sees a listed set of keys: sliding windows, blocks and the video
// model's two-chunk windows are all the same description. No [T, T] matrix is ever made.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "lact/ops/tokens/range.h"

namespace lact::ops {

/// Keys of one range. band = 0: all of them. band = w > 0: query i sees only those with
/// i + ahead - w < j <= i + ahead. `ahead` is for keys that are numbered differently from the queries.
struct VisibleKeys {
  Range range;
  int64_t band = 0;
  int64_t ahead = 0;

  /// What the queries of `tile` can see of this range, as the smallest range.
  Range seen_by(Range tile) const;
  bool operator==(const VisibleKeys&) const = default;
};

/// All queries of a block see the same lists of keys; the lists of one block do not overlap.
struct AttentionBlock {
  Range queries;
  std::vector<VisibleKeys> keys;
  bool operator==(const AttentionBlock&) const = default;
};

/// Who attends to whom. Query ranges do not overlap; a query in no block attends to nothing and gives zeros.
struct Window {
  std::vector<AttentionBlock> blocks;
  bool operator==(const Window&) const = default;
};

/// Throws unless the window fits queries and keys at these positions.
void check_window(const Window& window, Range queries, Range keys);

/// Throws unless the shapes fit each other and the window; k and v may be of another type than q.
void check_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Window& window,
                     int64_t first_query, int64_t first_key);

/// q [B, Tq, H, D] for positions first_query, first_query + 1, ...; k, v [B, Tk, H, D] for positions from
/// first_key on. Scores are scaled by 1/sqrt(D); softmax in at least float32. Returns [B, Tq, H, D of v].
at::Tensor window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Window& window, int64_t first_query = 0, int64_t first_key = 0);

namespace reference {
at::Tensor window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Window& window, int64_t first_query, int64_t first_key);
}

/// float32 and bfloat16 on a processor, tile by tile, with a backward pass of its own: no scores are kept.
/// Heads may lie anywhere, as long as the numbers of one row lie side by side.
namespace fused {
bool fits_window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);
at::Tensor window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Window& window, int64_t first_query, int64_t first_key);
}  // namespace fused

}  // namespace lact::ops
