#include <ATen/ATen.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "lact/base/error.h"
#include "lact/io/png.h"

namespace lact::io {

namespace {

// Of texts and profiles, each of which libpng unpacks to at most 8 MB; more are passed over.
constexpr png_uint_32 kMostChunks = 16;

// libpng's simplified interface converts by the gamma of the file, which no other tool of the trade does, so
// this is the classic one. It leaves by longjmp: every call of it sits in a function whose frame has nothing
// to destroy, and everything with a destructor is a member of PngReader.
class PngReader {
 public:
  PngReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &PngReader::on_error,
                                  [](png_structp, png_const_charp) {});
    LACT_CHECK(png_ != nullptr, "{}: there is no memory to read the PNG picture", name);
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      fail("{}: there is no memory to read the PNG picture", name);
    }
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  ImageSize size() {
    LACT_CHECK(read_header(), "{}: the PNG picture cannot be read: {}", name_, message_);
    check_image_size(name_, png_get_image_height(png_, info_), png_get_image_width(png_, info_));
    return {png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
  }

  at::Tensor pixels() {
    const ImageSize size = this->size();
    LACT_CHECK(choose_format(), "{}: the PNG picture cannot be read: {}", name_, message_);
    const int64_t channels = png_get_channels(png_, info_);
    LACT_CHECK((channels == 3 || channels == 4) && png_get_bit_depth(png_, info_) == 8,
               "{}: the PNG picture has {} channels, expected 3 or 4", name_, channels);
    at::Tensor image = at::empty({size.height, size.width, channels}, at::kByte);
    for (int64_t row = 0; row < size.height; ++row)
      rows_.push_back(image.data_ptr<uint8_t>() + row * size.width * channels);
    LACT_CHECK(read_rows(), "{}: the PNG picture cannot be read: {}", name_, message_);
    return image;
  }

 private:
  bool read_header() {
    if (setjmp(jump_) != 0) return false;
    png_set_read_fn(png_, this, &PngReader::on_read);
    png_set_chunk_cache_max(png_, kMostChunks);
    png_read_info(png_, info_);
    return true;
  }

  bool choose_format() {
    if (setjmp(jump_) != 0) return false;
    png_set_expand(png_);  // palettes to colours, few bits to 8, a transparent colour to alpha
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool read_rows() {
    if (setjmp(jump_) != 0) return false;
    png_read_image(png_, rows_.data());
    png_read_end(png_, nullptr);
    return true;
  }

  static void on_error(png_structp png, png_const_charp text) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof(self->message_), "%s", text);
    std::longjmp(self->jump_, 1);
  }

  static void on_read(png_structp png, png_bytep target, size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->bytes_.size() - self->position_) png_error(png, "the file ends in the middle");
    std::memcpy(target, self->bytes_.data() + self->position_, count);
    self->position_ += count;
  }

  std::string_view bytes_;
  const std::string& name_;
  size_t position_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::vector<png_bytep> rows_;
  std::jmp_buf jump_;
  char message_[160] = {};
};

}  // namespace

at::Tensor decode_png(std::string_view bytes, const std::string& name) {
  return PngReader(bytes, name).pixels();
}

ImageSize decode_png_size(std::string_view bytes, const std::string& name) {
  return PngReader(bytes, name).size();
}

}  // namespace lact::io
