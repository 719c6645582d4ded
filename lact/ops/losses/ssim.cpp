#include "lact/ops/losses/ssim.h"

#include <ATen/ATen.h>

namespace lact::ops {

at::Tensor ssim_of_pixels(const at::Tensor& x, const at::Tensor& y, int64_t padding) {
  const auto weights = ssim_weights();
  const at::Tensor gauss =
      at::tensor(std::vector<double>(weights.begin(), weights.end()), at::kDouble).to(x.options());
  const int64_t channels = x.size(1);
  const at::Tensor rows = gauss.view({1, 1, kSsimWindow, 1}).expand({channels, 1, kSsimWindow, 1});
  const at::Tensor columns = gauss.view({1, 1, 1, kSsimWindow}).expand({channels, 1, 1, kSsimWindow});
  const auto blur = [&](const at::Tensor& image) {
    const at::Tensor vertical =
        at::conv2d(image, rows, {}, {1, 1}, at::IntArrayRef{padding, 0}, {1, 1}, channels);
    return at::conv2d(vertical, columns, {}, {1, 1}, at::IntArrayRef{0, padding}, {1, 1}, channels);
  };
  const at::Tensor mean_x = blur(x), mean_y = blur(y);
  const at::Tensor var_x = blur(x * x) - mean_x.square();
  const at::Tensor var_y = blur(y * y) - mean_y.square();
  const at::Tensor covariance = blur(x * y) - mean_x * mean_y;
  return (2 * mean_x * mean_y + kSsimC1) * (2 * covariance + kSsimC2) /
         ((mean_x.square() + mean_y.square() + kSsimC1) * (var_x + var_y + kSsimC2));
}

}  // namespace lact::ops
