// Where the rows of a tensor [..., width] stand in memory: the last dimension is contiguous, the others are
// up to three nested loops.
#pragma once

#include <cstdint>

namespace lact::kernels {

/// Row r = (outer * middle_count + middle) * inner_count + inner stands at
/// outer * outer_stride + middle * middle_stride + inner * inner_stride, in elements.
struct Rows {
  int64_t middle_count = 1, inner_count = 1;
  int64_t outer_stride = 0, middle_stride = 0, inner_stride = 0;
};

}  // namespace lact::kernels
