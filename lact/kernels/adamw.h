// The optimizer's passes over float32 parameters.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// With g = gradient · gradient_factor:
///   mean ← mean + mean_rate (g - mean);  square ← square_keep · square + square_rate g²
///   parameter ← keep · parameter - rate · mean / (sqrt(square · square_scale) + epsilon)
struct AdamWStep {
  float gradient_factor, mean_rate, square_keep, square_rate, square_scale, keep, rate, epsilon;
};

struct AdamWKernels {
  void (*step)(const AdamWStep& step, float* parameter, const float* gradient, float* mean, float* square,
               int64_t count);
  /// Σ x², added in float64.
  double (*sum_of_squares)(const float* x, int64_t count);
};

LACT_KERNEL_TABLE(AdamWKernels, adamw)

}  // namespace lact::kernels
