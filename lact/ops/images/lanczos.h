// Pictures made smaller or larger by Lanczos filtering, to the bit as Pillow does it: the published models
// were trained on its pixels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lact::ops {

/// uint8 [H, W, 3 or 4] -> [height, width, same]. Alpha (channel 3, not premultiplied) weighs the colours.
at::Tensor resize_lanczos(const at::Tensor& image, int64_t height, int64_t width);

}  // namespace lact::ops
