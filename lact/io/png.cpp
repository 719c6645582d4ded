#include "lact/io/png.h"

#include <ATen/ATen.h>
#include <png.h>

#include "lact/base/error.h"
#include "lact/io/atomic_file.h"

namespace lact::io {

namespace {

constexpr int64_t kMaxPngSide = 1'000'000;                // libpng's own limit
constexpr int64_t kMaxPngBytes = (int64_t{1} << 31) - 1;  // its size macros count in 32 bits

/// libpng's simplified interface reports errors by its result; the classic one would longjmp over our
/// destructors.
std::vector<char> encode_png(const std::string& path, const at::Tensor& pixels) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<png_uint_32>(pixels.size(0));
  png.width = static_cast<png_uint_32>(pixels.size(1));
  png.format = pixels.dim() == 2 ? PNG_FORMAT_GRAY : pixels.size(2) == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::vector<char> bytes(size);
  const int done = png_image_write_to_memory(&png, bytes.data(), &size, /*convert_to_8_bit=*/0,
                                             pixels.data_ptr(), 0, nullptr);
  if (!done) {
    const std::string reason = png.message;
    png_image_free(&png);
    fail("{}: the image cannot be encoded as PNG: {}", path, reason);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

void write_png(const std::string& path, const at::Tensor& image) {
  LACT_CHECK(image.defined(), "{}: the image is undefined", path);
  LACT_CHECK(image.scalar_type() == at::kByte, "{}: the image has dtype {}, expected uint8 (Byte)", path,
             toString(image.scalar_type()));
  LACT_CHECK(image.dim() == 2 || (image.dim() == 3 && (image.size(2) == 3 || image.size(2) == 4)),
             "{}: the image has shape {}, expected [H, W, 3], [H, W, 4] or [H, W]", path,
             image.sizes().vec());
  for (const int64_t side : {image.size(0), image.size(1)}) {
    LACT_CHECK(side >= 1 && side <= kMaxPngSide,
               "{}: the image has shape {}, expected sides of 1 to {} pixels", path, image.sizes().vec(),
               kMaxPngSide);
  }
  LACT_CHECK(image.numel() <= kMaxPngBytes, "{}: the image has shape {}, expected less than 2 GiB", path,
             image.sizes().vec());
  const std::vector<char> bytes = encode_png(path, image.to(at::kCPU).contiguous());
  write_file_atomically(path, [&](FileWriter& writer) { writer.write(bytes.data(), bytes.size()); });
}

}  // namespace lact::io
