// Structural similarity of two pictures, pixel by pixel (Wang et al. 2004).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lact/ops/losses/ssim_window.h"

namespace lact::ops {

/// Images [N, C, H, W] -> [N, C, H + 2 · padding - 10, W + 2 · padding - 10], in their type; outside of them
/// are zeros.
at::Tensor ssim_of_pixels(const at::Tensor& x, const at::Tensor& y, int64_t padding);

}  // namespace lact::ops
