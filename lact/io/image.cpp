#include "lact/io/image.h"

#include "lact/base/error.h"
#include "lact/io/jpeg.h"
#include "lact/io/png.h"
#include "lact/io/regular_file.h"

namespace lact::io {

namespace {

enum class ImageKind { png, jpeg };

ImageKind image_kind(std::string_view bytes, const std::string& name) {
  using namespace std::string_view_literals;
  LACT_CHECK(!bytes.empty(), "{}: the file is empty, expected a PNG or JPEG picture", name);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return ImageKind::png;
  if (bytes.starts_with("\xff\xd8\xff"sv)) return ImageKind::jpeg;
  fail("{}: is neither a PNG nor a JPEG picture", name);
}

}  // namespace

void check_image_size(const std::string& name, int64_t height, int64_t width) {
  LACT_CHECK(height >= 1 && width >= 1 && height <= kMaxImageSide && width <= kMaxImageSide,
             "{}: the picture is {} x {} pixels, expected sides of 1 to {}", name, width, height,
             kMaxImageSide);
  LACT_CHECK(height * width <= kMaxImagePixels,
             "{}: the picture is {} x {} pixels, expected at most {} million pixels", name, width, height,
             kMaxImagePixels / 1'000'000);
}

at::Tensor decode_image(std::string_view bytes, const std::string& name) {
  return image_kind(bytes, name) == ImageKind::png ? decode_png(bytes, name) : decode_jpeg(bytes, name);
}

ImageSize decode_image_size(std::string_view bytes, const std::string& name) {
  return image_kind(bytes, name) == ImageKind::png ? decode_png_size(bytes, name)
                                                   : decode_jpeg_size(bytes, name);
}

at::Tensor read_image(const std::string& path) {
  return decode_image(read_whole_file(path, kMaxImageFileBytes), path);
}

ImageSize read_image_size(const std::string& path) {
  return decode_image_size(read_whole_file(path, kMaxImageFileBytes), path);
}

}  // namespace lact::io
