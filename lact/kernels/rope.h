// Turns pairs of channels: (a, b) -> (a cos - b sin, a sin + b cos).
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

struct RopeTask {
  bool bf16;        ///< x and y; float32 otherwise
  bool neighbours;  ///< pairs (2i, 2i + 1) instead of (i, i + D/2)
  bool back;        ///< by the negative angle: the backward pass
  int64_t tokens, heads, width;
  const void* x;
  int64_t batch_stride, token_stride, head_stride;  ///< of x, in elements
  void* y;                                          ///< [B, tokens, heads, width]
  const float *cos, *sin;                           ///< [tokens, width / 2]
};

struct RopeKernels {
  /// Rows [begin, end) of [B · tokens].
  void (*rotate)(const RopeTask& task, int64_t begin, int64_t end);
};

LACT_KERNEL_TABLE(RopeKernels, rope)

}  // namespace lact::kernels
