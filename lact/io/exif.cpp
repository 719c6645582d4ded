#include "lact/io/exif.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "lact/base/error.h"

namespace lact::io {

namespace {

/// Numbers at places in bytes; nothing beyond the end.
class TiffBytes {
 public:
  TiffBytes(std::string_view bytes, bool big) : bytes_(bytes), big_(big) {}

  std::optional<uint32_t> number(size_t place, size_t size) const {
    if (place > bytes_.size() || bytes_.size() - place < size) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value = value << 8 | static_cast<uint8_t>(bytes_[place + (big_ ? i : size - 1 - i)]);
    return value;
  }

 private:
  std::string_view bytes_;
  bool big_;
};

/// Of a TIFF header and its first directory, which is what EXIF is.
int tiff_orientation(std::string_view tiff) {
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  const bool big = tiff.starts_with("MM");
  if (!big && !tiff.starts_with("II")) return 1;
  const TiffBytes bytes(tiff, big);
  const auto directory = bytes.number(4, 4);
  const auto entries = directory ? bytes.number(*directory, 2) : std::nullopt;
  for (uint32_t i = 0; entries && i < *entries; ++i) {
    const size_t entry = size_t{*directory} + 2 + size_t{i} * 12;
    const auto tag = bytes.number(entry, 2), type = bytes.number(entry + 2, 2),
               value = bytes.number(entry + 8, 2);
    if (!value) return 1;
    if (tag == kOrientation && type == kShort)
      return *value >= 1 && *value <= 8 ? static_cast<int>(*value) : 1;
  }
  return 1;
}

}  // namespace

int exif_orientation(std::string_view file) {
  using namespace std::string_view_literals;
  if (!file.starts_with("\xff\xd8"sv)) return 1;
  // Segments: 0xff, a kind, two bytes of length that count themselves. The picture begins at 0xda.
  size_t place = 2;
  while (place + 4 <= file.size() && file[place] == '\xff' && file[place + 1] != '\xda') {
    const size_t length =
        size_t{static_cast<uint8_t>(file[place + 2])} << 8 | static_cast<uint8_t>(file[place + 3]);
    const std::string_view segment = file.substr(place + 4, length < 2 ? 0 : length - 2);
    if (file[place + 1] == '\xe1' && segment.starts_with("Exif\0\0"sv))
      return tiff_orientation(segment.substr(6));
    place += 2 + length;
  }
  return 1;
}

at::Tensor upright(const at::Tensor& image, int orientation) {
  LACT_CHECK(orientation >= 1 && orientation <= 8, "[upright] the orientation is {}, expected 1 to 8",
             orientation);
  // Where the first row and the first column of what was stored belong: 1 top, left; 2 top, right; 3 bottom,
  // right; 4 bottom, left; 5 left, top; 6 right, top; 7 right, bottom; 8 left, bottom.
  at::Tensor result = is_turned_aside(orientation) ? image.transpose(0, 1) : image;
  if (orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8) result = result.flip(0);
  if (orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7) result = result.flip(1);
  return result.contiguous();
}

}  // namespace lact::io
