// Weights in fewer bytes, in the forms that the products of gemv.h read: one pass over what is read from a
// file anyway, which also says what was lost.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// |weight|² and |rounded - weight|². Infinite or NaN if a weight is.
struct RoundingError {
  double whole = 0, lost = 0;
};

struct CompressKernels {
  /// `count` numbers to bfloat16.
  RoundingError (*halves)(const float* from, int64_t count, uint16_t* to);

  /// One row of `width` numbers, a multiple of kByteGroup: weight = scale · (byte - 128), with the largest
  /// number of a group at 127.
  RoundingError (*bytes)(const float* from, int64_t width, uint8_t* to, float* scales);

  /// |weight|² of numbers that stay as they are.
  double (*squares)(const float* from, int64_t count);
  double (*squares_of_halves)(const uint16_t* from, int64_t count);
};

LACT_KERNEL_TABLE(CompressKernels, compress)

}  // namespace lact::kernels
