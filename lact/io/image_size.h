// The size of a picture, for all who speak of one.
#pragma once

#include <cstdint>
#include <string>

namespace lact::io {

/// Larger pictures are refused before memory is taken for them.
constexpr int64_t kMaxImageSide = 16384;
constexpr int64_t kMaxImagePixels = int64_t{1} << 27;

/// In pixels.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const ImageSize&) const = default;

  /// "256" is a square, "72x128" rows and columns. Throws a sentence for what is no size.
  static ImageSize parse(const std::string& text);
  std::string text() const;
  static constexpr bool kMayBeNumber = true;  ///< in JSON
};

}  // namespace lact::io
