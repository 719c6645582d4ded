// Products of a few tokens with float32 matrices, shared out among the threads by rows of the matrix.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lact/ops/dispatch/work_items.h"

namespace lact::ops {

/// Up to so many tokens are multiplied where a matrix lies; more are worth packing or widening it for.
inline constexpr int64_t kFewTokens = 32;

/// Without gradients, on the CPU, in float32 or bfloat16.
bool are_few_tokens(const at::Tensor& x);

/// x as rows of float32, padded with zeros: [tokens][width], width >= x.size(-1).
void read_tokens(const at::Tensor& x, int64_t width, float* rows);
std::vector<float> read_tokens(const at::Tensor& x, int64_t width);

/// The same way back: rows of float32 into a new tensor with the dtype of `like`.
at::Tensor write_tokens(const float* rows, at::IntArrayRef sizes, const at::Tensor& like);

/// Calls body(first, count) for ranges of `rows` rows, as long as is worth a worker's question for more.
template <class Body>
void for_each_row_range(int64_t rows, int64_t row_bytes, const Body& body) {
  constexpr int64_t kBytesPerItem = int64_t(1) << 16;
  const int64_t step = std::max<int64_t>(1, kBytesPerItem / row_bytes);
  for_each_item((rows + step - 1) / step,
                [&](int64_t item, int64_t) { body(item * step, std::min(step, rows - item * step)); });
}

}  // namespace lact::ops
