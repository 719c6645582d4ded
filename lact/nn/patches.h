// Pictures <-> tokens: a token is a square patch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lact::nn {

/// [B, V, C, H, W] -> [B, V · H/patch · W/patch, patch · patch · C]: tokens by view, row and column; the
/// numbers of a token by row, column and channel.
at::Tensor patchify(const at::Tensor& images, int64_t patch);

/// The way back: [B, V · rows · columns, patch · patch · C] -> [B, V, C, rows · patch, columns · patch].
at::Tensor unpatchify(const at::Tensor& tokens, int64_t views, int64_t height, int64_t width, int64_t patch);

/// Throws unless a picture divides into patches; how many there are otherwise.
int64_t patches_of(int64_t height, int64_t width, int64_t patch);

}  // namespace lact::nn
