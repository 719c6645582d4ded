#include <png.h>

#include "lact/base/error.h"
#include "lact/data/views/tracer/texture.h"
#include "lact/io/regular_file.h"

namespace lact::data::tracer {

namespace {

constexpr png_uint_32 kMaxTextureSide = 16384;
constexpr uint64_t kMaxTextureFile = uint64_t{1} << 30;

}  // namespace

// libpng's simplified interface reports errors by its result; the classic one would longjmp over our
// destructors.
Texture read_texture(const std::string& path) {
  const std::string bytes = io::read_whole_file(path, kMaxTextureFile);
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  LACT_CHECK(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()),
             "{}: cannot be read as a PNG texture: {}", path, png.message);
  if (png.width > kMaxTextureSide || png.height > kMaxTextureSide) {
    png_image_free(&png);
    fail("{}: the texture has {} x {} pixels, expected sides of at most {}", path, png.width, png.height,
         kMaxTextureSide);
  }
  png.format = PNG_FORMAT_RGB;
  Texture texture{static_cast<int>(png.width), static_cast<int>(png.height), {}};
  texture.rgb.resize(PNG_IMAGE_SIZE(png));
  const png_color white = {255, 255, 255};
  if (!png_image_finish_read(&png, &white, texture.rgb.data(), 0, nullptr)) {
    const std::string reason = png.message;
    png_image_free(&png);
    fail("{}: cannot be read as a PNG texture: {}", path, reason);
  }
  return texture;
}

}  // namespace lact::data::tracer
