#include "lact/io/image_size.h"

#include <charconv>

#include "lact/base/error.h"

namespace lact::io {

ImageSize ImageSize::parse(const std::string& text) {
  ImageSize size;
  const char *begin = text.data(), *end = begin + text.size();
  const auto [after_height, height_error] = std::from_chars(begin, end, size.height);
  bool good = height_error == std::errc{};
  if (good && after_height == end) {
    size.width = size.height;
  } else if (good && *after_height == 'x') {
    const auto [after_width, width_error] = std::from_chars(after_height + 1, end, size.width);
    good = width_error == std::errc{} && after_width == end;
  } else {
    good = false;
  }
  LACT_CHECK(good, "\"{}\" is not a size, expected a number or height x width, such as 256 or 256x384", text);
  for (const int64_t side : {size.height, size.width})
    LACT_CHECK(side >= 1 && side <= kMaxImageSide, "a side of {} pixels, expected 1 to {}", side,
               kMaxImageSide);
  return size;
}

std::string ImageSize::text() const {
  return height == width ? std::to_string(height) : fmt::format("{}x{}", height, width);
}

}  // namespace lact::io
