// Images to and from JPEG.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>

#include "lact/io/image.h"

namespace lact::io {

/// `image` is uint8 [H, W, 3]; quality 1 to 100.
std::string encode_jpeg(const at::Tensor& image, int quality = 85);

/// uint8 [H, W, 3]; `name` is what an error calls it. A file that ends early or is damaged is an error.
at::Tensor decode_jpeg(std::string_view bytes, const std::string& name);
ImageSize decode_jpeg_size(std::string_view bytes, const std::string& name);

}  // namespace lact::io
