// A window in the words of the attention kernels: rows of tensors instead of positions.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

#include "lact/kernels/attention.h"
#include "lact/ops/attention/window_attention.h"

namespace lact::ops {

/// The blocks of a window as pieces of queries with the rows of keys they see. Shared by the forward and the
/// backward pass.
class AttentionPieces : public torch::CustomClassHolder {
 public:
  AttentionPieces(const Window& window, int64_t first_query, int64_t first_key);
  AttentionPieces(const AttentionPieces&) = delete;
  AttentionPieces& operator=(const AttentionPieces&) = delete;

  /// One piece per block of the window, in its order.
  const std::vector<kernels::QueriesAndKeys>& blocks() const { return blocks_; }

  /// The blocks with more than `few` queries, cut into pieces of at most `most`.
  std::vector<kernels::QueriesAndKeys> cut(int64_t few, int64_t most) const;

  /// How many queries lie in blocks.
  int64_t num_queries() const;

  /// The smallest range with all queries that see one of these keys.
  Range queries_of(Range keys) const;

 private:
  std::vector<kernels::VisibleRows> ranges_;  // of all blocks, one after the other
  std::vector<kernels::QueriesAndKeys> blocks_;
};

/// The largest number of keys of one range that a piece sees.
int64_t most_keys(const kernels::QueriesAndKeys& piece);

}  // namespace lact::ops
