// y = silu(gate) ∘ up, over rows.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"
#include "lact/kernels/rows.h"

namespace lact::kernels {

struct GatedSiluForward {
  bool bf16;  ///< all tensors; float32 otherwise
  int64_t width;
  const void *gate, *up;
  void* y;
  Rows gate_rows, up_rows, y_rows;
};

struct GatedSiluBackward {
  bool bf16;
  int64_t width;
  const void *gate, *up, *dy;
  void *dgate, *dup;
  Rows gate_rows, up_rows, dy_rows, dgate_rows, dup_rows;
};

struct GatedSiluKernels {
  void (*forward)(const GatedSiluForward& task, int64_t begin, int64_t end);
  void (*backward)(const GatedSiluBackward& task, int64_t begin, int64_t end);
};

LACT_KERNEL_TABLE(GatedSiluKernels, gated_silu)

}  // namespace lact::kernels
