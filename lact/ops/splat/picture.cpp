#include "lact/ops/splat/picture.h"

#include <ATen/ATen.h>

namespace lact::ops {

at::Tensor splat_picture(const Gaussians& gaussians, const SplatCamera& camera,
                         const std::array<double, 3>& background) {
  const at::NoGradGuard no_grad;
  SplatOptions options;
  options.background = background;
  return splat(gaussians, camera, options).image.clamp(0, 1);
}

}  // namespace lact::ops
