#include "lact/ops/splat/splat.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

SplatImage splat(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options) {
  check_shapes(gaussians);
  check_camera(camera);
  LACT_CHECK(options.degree >= 0 && options.degree <= 3, "[splat] degree is {}, expected 0 to 3",
             options.degree);
  LACT_CHECK(options.near > 0 && options.near < options.far,
             "[splat] near is {} and far is {}, expected 0 < near < far", options.near, options.far);
  LACT_CHECK(std::isfinite(options.blur) && options.blur >= 0, "[splat] blur is {}, expected 0 or more",
             options.blur);
  if (const at::Tensor& offsets = options.screen_offsets; offsets.defined()) {
    LACT_CHECK(offsets.sizes() == at::IntArrayRef({gaussians.size(), 2}),
               "[splat] screen_offsets have shape {}, expected [{}, 2]", offsets.sizes().vec(),
               gaussians.size());
    LACT_CHECK(offsets.scalar_type() == gaussians.means.scalar_type(),
               "[splat] screen_offsets are {} but means are {}", toString(offsets.scalar_type()),
               toString(gaussians.means.scalar_type()));
  }
  if (fused_paths() && fused::fits_splat(gaussians, options)) return fused::splat(gaussians, camera, options);
  check_finite(gaussians);  // kernels look at the numbers while they have them at hand
  return reference::splat(gaussians, camera, options);
}

}  // namespace lact::ops
