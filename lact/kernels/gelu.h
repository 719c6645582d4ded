// y = gelu(x) with tanh, over rows.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"
#include "lact/kernels/rows.h"

namespace lact::kernels {

struct GeluForward {
  bool bf16;  ///< all tensors; float32 otherwise
  int64_t width;
  const void* x;
  void* y;
  Rows x_rows, y_rows;
};

struct GeluBackward {
  bool bf16;
  int64_t width;
  const void *x, *dy;
  void* dx;
  Rows x_rows, dy_rows, dx_rows;
};

struct GeluKernels {
  void (*forward)(const GeluForward& task, int64_t begin, int64_t end);
  void (*backward)(const GeluBackward& task, int64_t begin, int64_t end);
};

LACT_KERNEL_TABLE(GeluKernels, gelu)

}  // namespace lact::kernels
