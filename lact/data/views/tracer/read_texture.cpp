#include "lact/data/views/preprocess.h"
#include "lact/data/views/tracer/texture.h"
#include "lact/io/image.h"

namespace lact::data::tracer {

Texture read_texture(const std::string& path) {
  const at::Tensor pixels = composite_on_white(io::read_image(path)).contiguous();
  Texture texture{static_cast<int>(pixels.size(1)), static_cast<int>(pixels.size(0)), {}};
  const auto* first = pixels.data_ptr<uint8_t>();
  texture.rgb.assign(first, first + pixels.numel());
  return texture;
}

}  // namespace lact::data::tracer
