// Pictures on surfaces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/data/views/tracer/vec.h"

namespace lact::data::tracer {

struct Texture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;  ///< [height, width, 3], the top row first

  /// Bilinear between the centres of texels, repeating; u to the right, v upwards, both 1 for the whole.
  Vec3 sample(float u, float v) const;
};

/// A texture and smaller copies of it, each half as large as the one before: what is seen from afar is an
/// average, and looks the same from every side.
class TexturePyramid {
 public:
  explicit TexturePyramid(Texture texture);

  const Texture& full() const { return levels_.front(); }
  /// `texels`: side of the square of the full texture that the sample stands for.
  Vec3 sample(float u, float v, float texels) const;
  size_t bytes() const;

 private:
  std::vector<Texture> levels_;
};

/// A PNG or JPEG file of at most 16384 x 16384 pixels; what is transparent becomes white.
Texture read_texture(const std::string& path);

}  // namespace lact::data::tracer
