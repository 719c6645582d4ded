// How close rendered pictures are to photographs: PSNR, SSIM and, where its weights are given, LPIPS.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "lact/models/lpips/lpips.h"

namespace lact::tasks::nvs {

struct ImageScores {
  double psnr = 0;              ///< decibels
  double ssim = 0;              ///< 1 for equal pictures
  std::optional<double> lpips;  ///< 0 for equal pictures; nothing without a network
};

/// Means over the pictures, [N, 3, H, W] in [0, 1]; the PSNR is the mean of the pictures' PSNRs. Rendered
/// values outside of [0, 1] are cut off first, as in a picture file.
ImageScores score_images(const at::Tensor& rendered, const at::Tensor& truth,
                         const models::Lpips* lpips = nullptr);

}  // namespace lact::tasks::nvs
