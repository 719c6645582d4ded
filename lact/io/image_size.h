// The size of a picture, for all who speak of one.
#pragma once

#include <cstdint>

namespace lact::io {

/// Larger pictures are refused before memory is taken for them.
constexpr int64_t kMaxImageSide = 16384;
constexpr int64_t kMaxImagePixels = int64_t{1} << 27;

/// In pixels.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const ImageSize&) const = default;
};

}  // namespace lact::io
