// A JPEG file that says how it has to be turned.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "lact/io/jpeg.h"

namespace lact::testing {

/// The EXIF segment of a camera: a TIFF directory of two entries, the second of them the orientation.
inline std::string exif_segment(int orientation, bool big = false) {
  const auto number = [&](uint32_t value, size_t size) {
    std::string bytes;
    for (size_t i = 0; i < size; ++i) bytes += char(value >> 8 * (big ? size - 1 - i : i));
    return bytes;
  };
  const auto entry = [&](uint32_t tag, uint32_t value) {
    return number(tag, 2) + number(3, 2) + number(1, 4) + number(value, 2) + number(0, 2);
  };
  const std::string tiff = (big ? "MM" : "II") + number(42, 2) + number(8, 4) + number(2, 2) +
                           entry(0x0100, 77) + entry(0x0112, uint32_t(orientation)) + number(0, 4);
  const std::string body = std::string("Exif\0\0", 6) + tiff;
  const size_t length = body.size() + 2;
  return std::string("\xff\xe1") + char(length >> 8) + char(length) + body;
}

/// `image` is uint8 [H, W, 3], as it is stored.
inline std::string exif_jpeg(const at::Tensor& image, int orientation, bool big = false) {
  return io::encode_jpeg(image, 95).insert(2, exif_segment(orientation, big));
}

}  // namespace lact::testing
