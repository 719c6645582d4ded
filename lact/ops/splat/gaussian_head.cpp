#include "lact/ops/splat/gaussian_head.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/images/rays.h"

namespace lact::ops {

namespace {

void check_raw(const at::Tensor& raw, const at::Tensor& intrinsics, int64_t height, int64_t width,
               int64_t patch, const GaussianHeadOptions& options) {
  LACT_CHECK(patch > 0 && height > 0 && width > 0 && height % patch == 0 && width % patch == 0,
             "[gaussian head] a picture of {} x {} pixels does not divide into patches of {}", height, width,
             patch);
  LACT_CHECK(options.sh_degree >= 0 && options.sh_degree <= 3,
             "[gaussian head] sh_degree is {}, expected 0 to 3", options.sh_degree);
  LACT_CHECK(intrinsics.dim() == 3, "[gaussian head] the intrinsics have shape {}, expected [B, V, 4]",
             intrinsics.sizes().vec());
  const int64_t tokens = intrinsics.size(1) * (height / patch) * (width / patch);
  const std::vector<int64_t> expected = {intrinsics.size(0), tokens, patch * patch * options.channels()};
  LACT_CHECK(raw.sizes() == expected, "[gaussian head] the decoder's output has shape {}, expected {}",
             raw.sizes().vec(), expected);
}

/// Tokens of patches -> pixels by view, row and column: [B, N, channels].
at::Tensor by_pixel(const at::Tensor& raw, int64_t height, int64_t width, int64_t patch) {
  const int64_t rows = height / patch, columns = width / patch;
  return raw.view({raw.size(0), -1, rows, columns, patch, patch, raw.size(2) / (patch * patch)})
      .permute({0, 1, 2, 4, 3, 5, 6})
      .flatten(1, 5);
}

}  // namespace

Gaussians gaussian_head(const at::Tensor& raw, const at::Tensor& intrinsics,
                        const at::Tensor& camera_to_world, int64_t height, int64_t width, int64_t patch,
                        const GaussianHeadOptions& options) {
  check_raw(raw, intrinsics, height, width, patch, options);
  const int64_t harmonics = 3 * options.coefficients();
  const auto said = by_pixel(raw, height, width, patch).split_with_sizes({3, harmonics, 3, 4, 1}, 2);
  // [B, V, 9, H, W] -> [B, N, 9]: origin, direction, moment
  const at::Tensor rays = plucker_rays(intrinsics, camera_to_world, height, width)
                              .permute({0, 1, 3, 4, 2})
                              .flatten(1, 3)
                              .to(raw.options());
  const at::Tensor distance = options.max_dist * said[0].mean(2, /*keepdim=*/true).sigmoid();
  Gaussians gaussians;
  gaussians.means = rays.narrow(2, 0, 3) + distance * rays.narrow(2, 3, 3);
  gaussians.harmonics = said[1].unflatten(2, {options.coefficients(), 3});
  gaussians.log_scales = (said[2] + options.scale_bias).clamp_max(options.scale_max);
  gaussians.quaternions = said[3] / said[3].norm(2, 2, /*keepdim=*/true);
  gaussians.opacity_logits = said[4].squeeze(2) + options.opacity_bias;
  return gaussians;
}

}  // namespace lact::ops
