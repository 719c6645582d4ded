// Images to and from PNG.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "lact/io/image.h"

namespace lact::io {

/// `image` is uint8, [H, W, 3] for colour (sRGB), [H, W, 4] with alpha (not premultiplied) or [H, W] for
/// grey; written atomically.
void write_png(const std::string& path, const at::Tensor& image);

/// uint8 [H, W, 3], or [H, W, 4] where the picture has transparency; `name` is what an error calls it.
at::Tensor decode_png(std::string_view bytes, const std::string& name);
ImageSize decode_png_size(std::string_view bytes, const std::string& name);

}  // namespace lact::io
