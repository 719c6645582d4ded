// What networks with a layer norm inside do to a block of tokens besides matrix products: the norm, its
// gradient, the gradient of that one, and gelu up to its second derivative. With ẑ = (z - mean) r and
// r = 1 / sqrt(variance + ε):
//   f = x + scale ∘ ẑ + shift
//   δ = r (a - mean(a) - ẑ mean(a ∘ ẑ)),  a = scale ∘ p        from p = -∂L/∂f to -∂L/∂z
// All rows are float32 in a worker's memory unless they are NumberRows or OutputRows.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"
#include "lact/kernels/recurrence.h"

namespace lact::kernels {

struct BlockSize {
  int64_t rows, width;
};

/// [width] each; learned with the model.
struct NormChannels {
  const float *scale, *shift;
};

/// The gradient of δ and what follows from it. A bar is a gradient.
struct DescentBackward {
  FloatRows normed;      ///< ẑ
  const float* inverse;  ///< r of each row
  FloatRows p, delta;
  FloatRows delta_gradient;
  const float* scale;
  bool residual;                           ///< p = v - f(k): its gradient goes into f, too
  FloatRows p_gradient;                    ///< to
  FloatRows z_gradient;                    ///< to
  float *scale_gradient, *shift_gradient;  ///< added to
};

struct InnerNormKernels {
  /// z + bias becomes ẑ; inverse [rows] becomes r.
  void (*normalize)(FloatRows z, const float* bias, BlockSize size, double epsilon, float* inverse);
  /// out = x + scale ∘ ẑ + shift
  void (*residual)(NumberRows x, FloatRows normed, NormChannels channels, BlockSize size, OutputRows out);
  /// p = v - (k + scale ∘ ẑ + shift)
  void (*missing)(NumberRows k, NumberRows v, FloatRows normed, NormChannels channels, BlockSize size,
                  FloatRows p);
  /// δ, or, of a gradient of f, that of z.
  void (*descent)(FloatRows normed, const float* inverse, FloatRows p, const float* scale, BlockSize size,
                  FloatRows delta);
  void (*descent_backward)(const DescentBackward& task, BlockSize size);

  /// y + bias, of which h = gelu (with tanh); its slope, and with numbers in it the slope of that.
  void (*gelu)(FloatRows y, const float* bias, BlockSize size, FloatRows h, FloatRows slope,
               FloatRows curvature);

  /// sums += Σ factor_t a_t ∘ b_t over rows; without `factors` of ones, without b.numbers of a alone.
  void (*add_column_sums)(FloatRows a, FloatRows b, const float* factors, BlockSize size, float* sums);
  /// to = factor_t x_t + other_factor_t other
  void (*weigh)(FloatRows x, const float* factors, const float* other, const float* other_factors,
                BlockSize size, FloatRows to);
  /// sums[row] += <x, y>, of one y for all rows.
  void (*add_row_products)(FloatRows x, const float* y, BlockSize size, float* sums);
  /// to = keep to + a ∘ b
  void (*multiply)(FloatRows a, FloatRows b, float keep, BlockSize size, FloatRows to);
  /// to += factor x
  void (*add_rows)(FloatRows x, float factor, BlockSize size, FloatRows to);

  /// Without rows. to = keep to + x, where x is not null; and <x, y>.
  void (*combine)(const float* x, int64_t count, float keep, float* to);
  double (*product)(const float* x, const float* y, int64_t count);
};
LACT_KERNEL_TABLE(InnerNormKernels, inner_norm)

}  // namespace lact::kernels
