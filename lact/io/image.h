// Pictures that a user names, told apart by their first bytes and not by their ending.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "lact/io/image_size.h"

namespace lact::io {

/// A larger file is no picture.
inline constexpr uint64_t kMaxImageFileBytes = uint64_t{1} << 30;

/// uint8 [H, W, 3], or [H, W, 4] where a PNG has transparency (not premultiplied). Grey becomes colour, 16
/// bits become 8; colour profiles and the orientation of EXIF (lact/io/exif.h) are not applied, as with
/// Pillow.
at::Tensor read_image(const std::string& path);

/// From the header alone.
ImageSize read_image_size(const std::string& path);

/// The same from bytes in memory; `name` is what an error calls them.
at::Tensor decode_image(std::string_view bytes, const std::string& name);
ImageSize decode_image_size(std::string_view bytes, const std::string& name);

/// Throws a sentence where a picture of this size is not taken.
void check_image_size(const std::string& name, int64_t height, int64_t width);

}  // namespace lact::io
