// The loss of Gaussian splatting: (1 - λ) mean |x - y| + λ (1 - mean SSIM(x, y)).
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// Images [N, C, H, W] of one type; gradients go to `image` only. SSIM as in losses.h, but at every pixel:
/// the 11 x 11 window sees zeros outside of the picture.
at::Tensor l1_dssim(const at::Tensor& image, const at::Tensor& target, double lambda = 0.2);

namespace reference {
at::Tensor l1_dssim(const at::Tensor& image, const at::Tensor& target, double lambda);
}
namespace fused {
bool fits_l1_dssim(const at::Tensor& image, const at::Tensor& target);
at::Tensor l1_dssim(const at::Tensor& image, const at::Tensor& target, double lambda);
}  // namespace fused

}  // namespace lact::ops
