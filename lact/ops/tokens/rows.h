// Tensors as rows of their last dimension, the way kernels walk them.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "lact/kernels/rows.h"
#include "lact/ops/dispatch/work_items.h"

namespace lact::ops {

/// float32 or bfloat16 on a processor, and not empty: what the row kernels read.
bool fits_rows(const at::Tensor& x);

/// x itself if kernels can walk its rows, a contiguous copy otherwise.
at::Tensor with_rows(const at::Tensor& x);

/// Uninitialised, with the sizes and, where kernels can walk them, the strides of x.
at::Tensor empty_rows_like(const at::Tensor& x);

/// Of a tensor that came from one of the above.
kernels::Rows rows_of(const at::Tensor& x);

inline int64_t num_rows(const at::Tensor& x) { return x.numel() / x.size(-1); }

/// Rows that make one piece of work: enough to be worth sharing out, and the same for any number of threads.
inline int64_t rows_per_item(int64_t width) {
  constexpr int64_t kElements = 1 << 15;
  return std::max<int64_t>(1, kElements / width);
}
inline int64_t num_row_items(int64_t rows, int64_t width) {
  return (rows + rows_per_item(width) - 1) / rows_per_item(width);
}

/// body(item, first row, end of the rows) for every piece.
template <class Body>
void for_row_items(int64_t rows, int64_t width, const Body& body) {
  const int64_t each = rows_per_item(width);
  for_each_item(num_row_items(rows, width),
                [&](int64_t item, int64_t) { body(item, item * each, std::min(rows, (item + 1) * each)); });
}

}  // namespace lact::ops
