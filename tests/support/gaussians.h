// A handful of Gaussians in front of a camera that stands at the origin and looks along z.
#pragma once

#include <ATen/ATen.h>

#include "lact/ops/splat/splat.h"

namespace lact::testing {

/// float64; opacities in the middle, sizes of a few pixels of `small_camera`.
inline ops::Gaussians few_gaussians(int64_t count, int64_t degree) {
  const int64_t coefficients = (degree + 1) * (degree + 1);
  ops::Gaussians gaussians;
  gaussians.means = at::rand({count, 3}, at::kDouble) * 2 - 1;
  gaussians.means.select(1, 2).add_(4);
  gaussians.quaternions = at::randn({count, 4}, at::kDouble);
  gaussians.log_scales = at::rand({count, 3}, at::kDouble) - 1.5;
  gaussians.opacity_logits = at::randn({count}, at::kDouble);
  gaussians.harmonics = at::randn({count, coefficients, 3}, at::kDouble) * 0.3;
  return gaussians;
}

inline at::Tensor small_intrinsics(int64_t height, int64_t width) {
  return at::tensor({1.5 * double(width), 1.5 * double(height), width / 2.0, height / 2.0}, at::kDouble);
}

inline ops::SplatCamera small_camera(int64_t height = 8, int64_t width = 10,
                                     const at::Tensor& pose = at::eye(4, at::kDouble)) {
  return ops::splat_camera(small_intrinsics(height, width), pose, height, width);
}

}  // namespace lact::testing
