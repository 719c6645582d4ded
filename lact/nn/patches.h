// Pictures and latent videos <-> tokens: a token is a square patch, or a block of frames, rows and columns.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lact::nn {

/// [B, V, C, H, W] -> [B, V · H/patch · W/patch, patch · patch · C]: tokens by view, row and column; the
/// numbers of a token by row, column and channel.
at::Tensor patchify(const at::Tensor& images, int64_t patch);

/// The inverse: [B, V · rows · columns, patch · patch · C] -> [B, V, C, rows · patch, columns · patch].
at::Tensor unpatchify(const at::Tensor& tokens, int64_t views, int64_t height, int64_t width, int64_t patch);

/// Throws unless a picture divides into patches; how many there are otherwise.
int64_t patches_of(int64_t height, int64_t width, int64_t patch);

struct VideoPatch {
  int64_t frames = 1, rows = 1, columns = 1;
  int64_t size() const { return frames * rows * columns; }
};

/// [B, C, F, H, W] -> [B, tokens, C · patch]: tokens by frame, row and column; the numbers of a token by
/// channel, frame, row and column, as the weights of a convolution whose stride is its size.
at::Tensor patchify(const at::Tensor& video, const VideoPatch& patch);

/// [B, tokens, patch · C] -> [B, C, F, H, W], where F is what the tokens fill. The numbers of a token are by
/// frame, row, column and channel: Wan's output has its channels last, though its input has them first.
at::Tensor unpatchify(const at::Tensor& tokens, int64_t height, int64_t width, const VideoPatch& patch);

}  // namespace lact::nn
