#include "lact/ops/splat/splat.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::ops {

SplatImage splat(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options) {
  check_gaussians(gaussians);
  check_camera(camera);
  LACT_CHECK(options.degree >= 0 && options.degree <= 3, "[splat] degree is {}, expected 0 to 3",
             options.degree);
  if (const at::Tensor& offsets = options.screen_offsets; offsets.defined())
    LACT_CHECK(offsets.sizes() == at::IntArrayRef({gaussians.size(), 2}),
               "[splat] screen_offsets have shape {}, expected [{}, 2]", offsets.sizes().vec(),
               gaussians.size());
  return reference::splat(gaussians, camera, options);
}

}  // namespace lact::ops
