// A step of fast weights, row by row: moved = stored + step, and each row of the result has the norm
// `target`.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// Rows without gaps, [rows][columns] float32; one number per row where it says so.
struct RowStep {
  int64_t rows, columns;
  const float* stored;
  const float* step;
  const float* target;  ///< per row
  float epsilon;
  float* moved;   ///< may be null
  float* weight;  ///< moved / (|moved| + ε) · target
  float* norm;    ///< per row: |moved|
};

/// The other way: what `step` left behind, and the gradient of the weight.
struct RowStepBackward {
  int64_t rows, columns;
  const float* weight;
  const float* norm;
  const float* target;
  float epsilon;
  const float* weight_gradient;
  const float* moved_gradient;  ///< added to the result; may be null
  float* result;                ///< the gradient of moved
  float* target_gradient;       ///< per row
};

struct RowStepKernels {
  void (*step)(const RowStep& rows);
  void (*step_backward)(const RowStepBackward& rows);
  void (*norms)(const float* x, int64_t rows, int64_t columns, float* norm);
};
LACT_KERNEL_TABLE(RowStepKernels, row_steps)

}  // namespace lact::kernels
