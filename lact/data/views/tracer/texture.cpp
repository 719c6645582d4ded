#include "lact/data/views/tracer/texture.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/image.h"
#include "lact/io/regular_file.h"

namespace lact::data::tracer {

namespace {

// Pieces of an atlas lie side by side: in yet smaller copies they would run into one another.
constexpr size_t kMaxLevels = 4;

Texture halved(const Texture& texture) {
  Texture half{std::max(texture.width / 2, 1), std::max(texture.height / 2, 1), {}};
  half.rgb.reserve(static_cast<size_t>(half.width) * half.height * 3);
  for (int y = 0; y < half.height; ++y) {
    for (int x = 0; x < half.width; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        int sum = 2;
        for (const int row : {2 * y, std::min(2 * y + 1, texture.height - 1)}) {
          for (const int column : {2 * x, std::min(2 * x + 1, texture.width - 1)}) {
            sum += texture.rgb[(static_cast<size_t>(row) * texture.width + column) * 3 + channel];
          }
        }
        half.rgb.push_back(static_cast<uint8_t>(sum / 4));
      }
    }
  }
  return half;
}

/// Two neighbouring texels of a row or column that repeats, and how much of the second.
struct Neighbours {
  int first, second;
  float share_of_second;

  Neighbours(float position, int size) {
    const Parts parts(position);
    first = parts.whole;
    share_of_second = parts.rest;
    if (first < 0) first += size;
    if (first >= size) first -= size;
    second = first + 1 == size ? 0 : first + 1;
  }
};

}  // namespace

Vec3 Texture::sample(float u, float v) const {
  const Neighbours columns(Parts(u).rest * static_cast<float>(width) - 0.5F, width);
  const Neighbours rows((1 - Parts(v).rest) * static_cast<float>(height) - 0.5F, height);
  const auto texel = [&](int row, int column) {
    const uint8_t* bytes = &rgb[(static_cast<size_t>(row) * width + column) * 3];
    return Vec3{static_cast<float>(bytes[0]), static_cast<float>(bytes[1]), static_cast<float>(bytes[2])};
  };
  const auto across = [&](int row) {
    return blend(texel(row, columns.first), texel(row, columns.second), columns.share_of_second);
  };
  return blend(across(rows.first), across(rows.second), rows.share_of_second) * (1 / 255.0F);
}

TexturePyramid::TexturePyramid(Texture texture) {
  LACT_ASSERT(texture.width > 0 && texture.height > 0);
  LACT_ASSERT(texture.rgb.size() == static_cast<size_t>(texture.width) * texture.height * 3);
  levels_.push_back(std::move(texture));
  while (levels_.size() < kMaxLevels && levels_.back().width > 1 && levels_.back().height > 1) {
    levels_.push_back(halved(levels_.back()));
  }
}

Vec3 TexturePyramid::sample(float u, float v, float texels) const {
  size_t level = 0;
  while (texels >= 2 && level + 1 < levels_.size()) {
    texels *= 0.5F;
    ++level;
  }
  const Vec3 colour = levels_[level].sample(u, v);
  if (texels <= 1 || level + 1 == levels_.size()) return colour;
  return blend(colour, levels_[level + 1].sample(u, v), texels - 1);
}

size_t TexturePyramid::bytes() const {
  size_t total = 0;
  for (const Texture& level : levels_) total += level.rgb.size();
  return total;
}

Texture decode_texture(std::string_view bytes, const std::string& name) {
  const at::Tensor pixels = composite_on_white(io::decode_image(bytes, name)).contiguous();
  Texture texture{static_cast<int>(pixels.size(1)), static_cast<int>(pixels.size(0)), {}};
  const auto* first = pixels.data_ptr<uint8_t>();
  texture.rgb.assign(first, first + pixels.numel());
  return texture;
}

Texture read_texture(const std::string& path) {
  return decode_texture(io::read_whole_file(path, io::kMaxImageFileBytes), path);
}

std::shared_ptr<const TexturePyramid> TextureSet::get(const std::string& key, const std::string& name,
                                                      const std::function<std::string()>& bytes) {
  auto& texture = known_[key];
  if (texture) return texture;
  const std::string file = bytes();
  const io::ImageSize size = io::decode_image_size(file, name);
  texels_ += size.height * size.width;
  LACT_CHECK(texels_ <= max_texels_, "{}: with it the textures have {} pixels together, expected at most {}",
             name, texels_, max_texels_);
  texture = std::make_shared<const TexturePyramid>(decode_texture(file, name));
  return texture;
}

}  // namespace lact::data::tracer
