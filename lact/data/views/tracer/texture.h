// Pictures on surfaces.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
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

/// A PNG or JPEG picture of at most 16384 x 16384 pixels; what is transparent becomes white. `name` is what
/// an error calls it.
Texture decode_texture(std::string_view bytes, const std::string& name);
Texture read_texture(const std::string& path);

/// Textures of one mesh file, each decoded once.
class TextureSet {
 public:
  /// Pixels of all of them together; they take about 4 bytes each.
  static constexpr int64_t kMaxTexels = int64_t{1} << 29;

  explicit TextureSet(int64_t max_texels = kMaxTexels) : max_texels_(max_texels) {}

  /// `key` tells textures apart, `name` is what an error calls this one; `bytes` gives the picture's file
  /// when it is not known yet.
  std::shared_ptr<const TexturePyramid> get(const std::string& key, const std::string& name,
                                            const std::function<std::string()>& bytes);

 private:
  int64_t max_texels_, texels_ = 0;
  std::map<std::string, std::shared_ptr<const TexturePyramid>> known_;
};

}  // namespace lact::data::tracer
