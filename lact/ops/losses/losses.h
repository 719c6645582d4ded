// Losses and quality measures as pure functions of tensors.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// Cross entropy of the next token: logits [B, T, vocabulary], ids [B, T] -> [B, T - 1], position t predicts
/// token t + 1.
at::Tensor next_token_loss(const at::Tensor& logits, const at::Tensor& ids);

/// Means of consecutive blocks along the last dimension; an incomplete last block is left out.
at::Tensor block_means(const at::Tensor& x, int64_t block);

/// Mean squared error per image; images [N, C, H, W] -> [N].
at::Tensor image_mse(const at::Tensor& a, const at::Tensor& b);

/// -10 log10(mse) per image, for images in [0, 1]; [N].
at::Tensor psnr(const at::Tensor& a, const at::Tensor& b);

/// Structural similarity at every place where the 11 x 11 Gaussian window (sigma 1.5) fits: [N, C, H - 10, W
/// - 10]. The image's SSIM is its mean.
at::Tensor ssim_map(const at::Tensor& a, const at::Tensor& b);

}  // namespace lact::ops
