#include "lact/io/jpeg.h"

#include <ATen/ATen.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include <jerror.h>

#include "lact/base/error.h"

namespace lact::io {

namespace {

// libjpeg leaves by longjmp: every call of it sits in a function whose frame has nothing to destroy, and
// everything with a destructor belongs to the caller of that function.
struct JpegErrors {
  jpeg_error_mgr manager;  // first, so that a pointer to it is one to the whole
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};

  JpegErrors() {
    jpeg_std_error(&manager);
    manager.error_exit = &leave;
    manager.emit_message = &warn;
    manager.output_message = [](j_common_ptr) {};
  }

  static void leave(j_common_ptr state) {
    auto* self = reinterpret_cast<JpegErrors*>(state->err);
    state->err->format_message(state, self->message);
    std::longjmp(self->jump, 1);
  }

  /// Where data is missing or damaged libjpeg warns and paints grey; that is an error here.
  static void warn(j_common_ptr state, int level) {
    const int code = state->err->msg_code;
    const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
                          code == JWRN_JFIF_MAJOR || code == JWRN_BOGUS_PROGRESSION;
    if (level < 0 && !harmless) leave(state);
  }
};

/// Every scan of a progressive picture goes over all of its pixels, however few bytes it has: a small file of
/// thousands of scans would take minutes. Encoders make about ten.
constexpr int kMostScans = 200;

class JpegReader {
 public:
  JpegReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    state_.err = &errors_.manager;
    progress_.progress_monitor = &count_scans;
  }
  ~JpegReader() {
    if (created_) jpeg_destroy_decompress(&state_);
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  ImageSize size() {
    LACT_CHECK(read_header(), "{}: the JPEG picture cannot be read: {}", name_, errors_.message);
    check_image_size(name_, state_.image_height, state_.image_width);
    return {state_.image_height, state_.image_width};
  }

  at::Tensor pixels() {
    const ImageSize size = this->size();
    const bool known = state_.jpeg_color_space == JCS_GRAYSCALE || state_.jpeg_color_space == JCS_YCbCr ||
                       state_.jpeg_color_space == JCS_RGB;
    LACT_CHECK(known, "{}: the JPEG picture has {} colour components that are not RGB; convert it to RGB",
               name_, state_.num_components);
    at::Tensor image = at::empty({size.height, size.width, 3}, at::kByte);
    LACT_CHECK(read_rows(image.data_ptr<uint8_t>()), "{}: the JPEG picture cannot be read: {}", name_,
               errors_.message);
    return image;
  }

 private:
  bool read_header() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&state_);
    created_ = true;
    state_.progress = &progress_;
    jpeg_mem_src(&state_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&state_, TRUE);
    return true;
  }

  bool read_rows(uint8_t* pixels) {
    if (setjmp(errors_.jump) != 0) return false;
    state_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&state_);
    while (state_.output_scanline < state_.output_height) {
      JSAMPROW row = pixels + size_t{state_.output_scanline} * state_.output_width * 3;
      jpeg_read_scanlines(&state_, &row, 1);
    }
    jpeg_finish_decompress(&state_);
    return true;
  }

  static void count_scans(j_common_ptr state) {
    if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number <= kMostScans) return;
    auto* errors = reinterpret_cast<JpegErrors*>(state->err);
    std::snprintf(errors->message, sizeof(errors->message), "it has more than %d scans", kMostScans);
    std::longjmp(errors->jump, 1);
  }

  std::string_view bytes_;
  const std::string& name_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_ = {};
  jpeg_decompress_struct state_ = {};
  bool created_ = false;
};

class JpegWriter {
 public:
  JpegWriter() { state_.err = &errors_.manager; }
  ~JpegWriter() {
    if (created_) jpeg_destroy_compress(&state_);
    std::free(bytes_);
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  std::string encode(const at::Tensor& image, int quality) {
    const bool done = write(image.data_ptr<uint8_t>(), static_cast<JDIMENSION>(image.size(0)),
                            static_cast<JDIMENSION>(image.size(1)), quality);
    LACT_CHECK(done, "[encode_jpeg] the image of shape {} cannot be encoded: {}", image.sizes().vec(),
               errors_.message);
    return {reinterpret_cast<const char*>(bytes_), count_};
  }

 private:
  bool write(uint8_t* pixels, JDIMENSION height, JDIMENSION width, int quality) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_compress(&state_);
    created_ = true;
    jpeg_mem_dest(&state_, &bytes_, &count_);
    state_.image_height = height;
    state_.image_width = width;
    state_.input_components = 3;
    state_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&state_);
    jpeg_set_quality(&state_, quality, TRUE);
    jpeg_start_compress(&state_, TRUE);
    while (state_.next_scanline < height) {
      JSAMPROW row = pixels + size_t{state_.next_scanline} * width * 3;
      jpeg_write_scanlines(&state_, &row, 1);
    }
    jpeg_finish_compress(&state_);
    return true;
  }

  JpegErrors errors_;
  jpeg_compress_struct state_ = {};
  bool created_ = false;
  unsigned char* bytes_ = nullptr;
  unsigned long count_ = 0;
};

}  // namespace

std::string encode_jpeg(const at::Tensor& image, int quality) {
  LACT_CHECK(image.defined() && image.scalar_type() == at::kByte && image.dim() == 3 && image.size(2) == 3,
             "[encode_jpeg] the image is {}, expected uint8 (Byte) [H, W, 3]",
             image.defined() ? fmt::format("{} {}", toString(image.scalar_type()), image.sizes().vec())
                             : "undefined");
  check_image_size("[encode_jpeg]", image.size(0), image.size(1));
  LACT_CHECK(quality >= 1 && quality <= 100, "[encode_jpeg] the quality is {}, expected 1 to 100", quality);
  return JpegWriter().encode(image.to(at::kCPU).contiguous(), quality);
}

at::Tensor decode_jpeg(std::string_view bytes, const std::string& name) {
  return JpegReader(bytes, name).pixels();
}

ImageSize decode_jpeg_size(std::string_view bytes, const std::string& name) {
  return JpegReader(bytes, name).size();
}

}  // namespace lact::io
