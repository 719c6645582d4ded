// Pictures seen through a symmetric window that is a product of a row and a column.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// The window is 2 · kBlurReach + 1 pixels wide.
inline constexpr int64_t kBlurReach = 5;

/// What `blur` needs in `line`: a row and what the window sees beside it.
constexpr int64_t blur_line_floats(int64_t width) { return width + 2 * kBlurReach + 32; }

struct BlurKernels {
  /// to = window * from, for one plane [height, width]; pixels outside of it are zeros. `window` has
  /// kBlurReach + 1 weights, from the centre outwards.
  void (*blur)(const float* window, const float* from, float* to, float* line, int64_t height, int64_t width);
};

LACT_KERNEL_TABLE(BlurKernels, blur)

}  // namespace lact::kernels
