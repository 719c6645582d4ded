#include "lact/tasks/nvs/evaluation/image_metrics.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/losses/losses.h"

namespace lact::tasks::nvs {

ImageScores score_images(const at::Tensor& rendered, const at::Tensor& truth, const models::Lpips* lpips) {
  LACT_CHECK(rendered.dim() == 4 && rendered.sizes() == truth.sizes() && rendered.size(0) > 0,
             "[metrics] rendered pictures of shape {} and photographs of shape {}, expected twice "
             "[N, 3, H, W]",
             rendered.sizes().vec(), truth.sizes().vec());
  at::NoGradGuard no_grad;
  const at::Tensor shown = rendered.to(at::kFloat).clamp(0, 1), wanted = truth.to(at::kFloat);
  ImageScores scores;
  scores.psnr = ops::psnr(shown, wanted).mean().item<double>();
  scores.ssim = ops::ssim_map(shown, wanted).mean().item<double>();
  if (lpips != nullptr) scores.lpips = (*lpips)(shown, wanted).mean().item<double>();
  return scores;
}

}  // namespace lact::tasks::nvs
