#include "lact/ops/losses/losses.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/losses/ssim.h"

namespace lact::ops {

namespace {

void check_images(const char* op, const at::Tensor& a, const at::Tensor& b) {
  LACT_CHECK(a.dim() == 4 && a.sizes() == b.sizes(),
             "[{}] the images have shapes {} and {}, expected two equal [N, C, H, W]", op, a.sizes().vec(),
             b.sizes().vec());
}

}  // namespace

at::Tensor next_token_loss(const at::Tensor& logits, const at::Tensor& ids) {
  LACT_CHECK(
      logits.dim() == 3 && ids.dim() == 2 && logits.size(0) == ids.size(0) && logits.size(1) == ids.size(1),
      "[next_token_loss] logits have shape {} and ids {}, expected [B, T, vocabulary] and [B, T]",
      logits.sizes().vec(), ids.sizes().vec());
  LACT_CHECK(ids.size(1) >= 2, "[next_token_loss] the sequence has {} tokens, expected at least 2",
             ids.size(1));
  const at::Tensor targets = ids.slice(1, 1).to(at::kLong);
  const int64_t smallest = targets.min().item<int64_t>(), largest = targets.max().item<int64_t>();
  LACT_CHECK(smallest >= 0 && largest < logits.size(2),
             "[next_token_loss] ids run from {} to {}, expected 0 to {}", smallest, largest,
             logits.size(2) - 1);
  const at::Tensor log_probabilities = at::log_softmax(at_least_float(logits.slice(1, 0, -1)), -1);
  return -log_probabilities.gather(2, targets.unsqueeze(2)).squeeze(2);
}

at::Tensor block_means(const at::Tensor& x, int64_t block) {
  LACT_CHECK(block > 0, "[block_means] the block is {} positions long, expected at least 1", block);
  const int64_t blocks = x.size(-1) / block;
  auto sizes = x.sizes().vec();
  sizes.back() = blocks;
  sizes.push_back(block);
  return x.narrow(-1, 0, blocks * block).reshape(sizes).mean(-1);
}

at::Tensor image_mse(const at::Tensor& a, const at::Tensor& b) {
  check_images("image_mse", a, b);
  return (at_least_float(a) - at_least_float(b)).square().mean({1, 2, 3});
}

at::Tensor psnr(const at::Tensor& a, const at::Tensor& b) {
  check_images("psnr", a, b);
  return -10 * at::log10(image_mse(a, b));
}

at::Tensor ssim_map(const at::Tensor& a, const at::Tensor& b) {
  check_images("ssim", a, b);
  LACT_CHECK(a.size(2) >= kSsimWindow && a.size(3) >= kSsimWindow,
             "[ssim] images of {} x {}, expected at least {} x {}", a.size(2), a.size(3), kSsimWindow,
             kSsimWindow);

  // Variances are differences of nearly equal numbers, so they are taken in float64.
  return ssim_of_pixels(a.to(at::kDouble), b.to(at::kDouble), 0).to(wide_type(a.scalar_type()));
}

}  // namespace lact::ops
