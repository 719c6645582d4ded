// Matrix products on a processor without autograd: what the fused operations are made of. Blocks for the
// caches and shares out the work; the result does not depend on the number of threads.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

struct MultiplyOptions {
  /// out += a b instead of out = a b; only for a float32 `out`.
  bool accumulate = false;
  /// Added to every row of the result: [columns], or undefined.
  at::Tensor bias = {};
};

/// out [rows, columns] = a [rows, depth] b [depth, columns]. Each is float32 or bfloat16 in memory; sums are
/// float32. A transposed operand is a transposed view: x Wᵀ is multiply(y, x, weight.t()). Of `out` the rows
/// must be contiguous. Bfloat16 operands stay as they are in memory: what is multiplied is converted block by
/// block.
void multiply(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
              const MultiplyOptions& options = {});

/// The same into a new tensor.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, at::ScalarType type,
                   const at::Tensor& bias = {});

/// Whether multiply can take this tensor: on a processor, float32 or bfloat16, two dimensions.
bool can_multiply(const at::Tensor& matrix);

}  // namespace lact::ops
