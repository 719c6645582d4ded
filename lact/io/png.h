// Images to PNG files.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace lact::io {

/// `image` is uint8, [H, W, 3] for colour (sRGB) or [H, W] for grey; written atomically.
void write_png(const std::string& path, const at::Tensor& image);

}  // namespace lact::io
