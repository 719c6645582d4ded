// Pictures made smaller or larger by Lanczos filtering, to the bit as Pillow does it: the published models
// were trained on its pixels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lact::ops {

/// uint8 [H, W, 3 or 4] -> [height, width, same]. Alpha (channel 3, not premultiplied) weighs the colours.
at::Tensor resize_lanczos(const at::Tensor& image, int64_t height, int64_t width);

/// `count` pixels from `first` on, of a side that has `full` after the resize.
struct ResizedSpan {
  int64_t full = 0, first = 0, count = 0;
};

/// The same pixels as cutting them out of the resized picture, of which no more than they need is made: the
/// whole may be larger than any memory.
at::Tensor resize_lanczos(const at::Tensor& image, const ResizedSpan& rows, const ResizedSpan& columns);

}  // namespace lact::ops
