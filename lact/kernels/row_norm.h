// Normalisation of rows with a scale and shift per channel, in one pass over memory each way:
//   y = (x - mean) · factor ∘ weight + bias
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"
#include "lact/kernels/rows.h"

namespace lact::kernels {

/// How mean and factor follow from a row.
///   none:    mean 0, factor 1; scales and shifts only
///   rms:     factor 1 / sqrt(mean(x²) + epsilon)
///   layer:   mean(x), factor 1 / sqrt(variance + epsilon)
///   l2:      factor 1 / (|x| + epsilon), no weight
///   silu_l2: the same of silu(x), for rows up to kMostSiluWidth
enum class RowNorm { none, rms, layer, l2, silu_l2 };

/// silu of a row is computed once and kept on the stack.
constexpr int64_t kMostSiluWidth = 2048;

/// What the backward pass needs besides x, per row. rms: the factor. layer: mean and factor. l2, silu_l2: the
/// length.
constexpr int64_t row_norm_statistics(RowNorm kind) {
  return kind == RowNorm::none ? 0 : kind == RowNorm::layer ? 2 : 1;
}

struct RowNormForward {
  RowNorm kind;
  bool bf16;  ///< x and y; float32 otherwise
  int64_t width;
  double epsilon;
  const void* x;
  void* y;
  Rows x_rows, y_rows;
  const float *weight, *bias;  ///< [width], or null for ones and zeros
  float* statistics;           ///< [rows][row_norm_statistics]
};

struct RowNormBackward {
  RowNorm kind;
  bool bf16;  ///< x, dy and dx
  int64_t width;
  double epsilon;
  const void *x, *dy;
  void* dx;  ///< null if not wanted
  Rows x_rows, dy_rows, dx_rows;
  const float* weight;
  const float* statistics;
};

struct RowNormKernels {
  void (*forward)(const RowNormForward& task, int64_t begin, int64_t end);
  /// Adds this stretch of rows to dweight and dbias [width], where they are not null.
  void (*backward)(const RowNormBackward& task, int64_t begin, int64_t end, float* dweight, float* dbias);
};

LACT_KERNEL_TABLE(RowNormKernels, row_norm)

}  // namespace lact::kernels
