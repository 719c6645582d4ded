#include "lact/ops/losses/l1_dssim.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/losses/ssim.h"

namespace lact::ops {

at::Tensor l1_dssim(const at::Tensor& image, const at::Tensor& target, double lambda) {
  LACT_CHECK(image.dim() == 4 && image.sizes() == target.sizes(),
             "[l1_dssim] the images have shapes {} and {}, expected two equal [N, C, H, W]",
             image.sizes().vec(), target.sizes().vec());
  LACT_CHECK(image.scalar_type() == target.scalar_type(), "[l1_dssim] the images are {} and {}",
             toString(image.scalar_type()), toString(target.scalar_type()));
  if (fused_paths() && fused::fits_l1_dssim(image, target)) return fused::l1_dssim(image, target, lambda);
  return reference::l1_dssim(image, target, lambda);
}

namespace reference {

at::Tensor l1_dssim(const at::Tensor& image, const at::Tensor& target, double lambda) {
  const at::Tensor ssim = ssim_of_pixels(image, target.detach(), kSsimWindow / 2);
  return (1 - lambda) * (image - target.detach()).abs().mean() + lambda * (1 - ssim.mean());
}

}  // namespace reference

}  // namespace lact::ops
