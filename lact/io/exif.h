// How a photo has to be turned to stand upright: cameras store what the sensor saw, and say the rest in EXIF.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace lact::io {

/// The orientation of a JPEG file, 1 to 8 as EXIF counts; 1, upright, where nothing is said or it makes no
/// sense, and for other files.
int exif_orientation(std::string_view file);

/// Whether height and width change places.
constexpr bool is_turned_aside(int orientation) { return orientation >= 5 && orientation <= 8; }

/// [H, W, C] as it was stored -> upright.
at::Tensor upright(const at::Tensor& image, int orientation);

}  // namespace lact::io
