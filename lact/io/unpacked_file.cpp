#include "lact/io/unpacked_file.h"

#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <system_error>

#include "lact/base/error.h"
#include "lact/io/regular_file.h"

namespace lact::io {

class UnpackedFile::Decoder {
 public:
  virtual ~Decoder() = default;
  /// Bytes written to `out`; 0 only at the end.
  virtual size_t read(char* out, size_t most) = 0;
};

namespace {

std::string first_bytes(const std::string& path) {
  std::string bytes(4, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), std::streamsize(bytes.size()));
  bytes.resize(size_t(file.gcount()));
  return bytes;
}

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }
bool is_zstd(std::string_view bytes) { return bytes.starts_with("\x28\xb5\x2f\xfd"); }

std::string system_message() { return std::generic_category().message(errno); }

/// zlib reads a file without the magic of gzip as it is, so plain files take this path too.
class GzipDecoder final : public UnpackedFile::Decoder {
 public:
  explicit GzipDecoder(const std::string& path) : path_(path) {
    errno = 0;
    file_ = gzopen(path.c_str(), "rb");
    LACT_CHECK(file_ != nullptr, "{}: cannot be opened for reading: {}", path, system_message());
  }
  ~GzipDecoder() override { gzclose_r(file_); }

  size_t read(char* out, size_t most) override {
    const int count = gzread(file_, out, static_cast<unsigned>(most));
    int error = Z_OK;
    gzerror(file_, &error);
    // A file that ends too early gives what it has first; the error stays and is seen here.
    LACT_CHECK(error != Z_BUF_ERROR, "{}: the gzip file ends in the middle", path_);
    LACT_CHECK(error != Z_DATA_ERROR, "{}: the gzip file is corrupt", path_);
    LACT_CHECK(count >= 0, "{}: cannot be read: {}", path_, system_message());
    return size_t(count);
  }

 private:
  std::string path_;
  gzFile file_;
};

/// Several frames one after the other are one text, as parallel packers write them.
class ZstdDecoder final : public UnpackedFile::Decoder {
 public:
  explicit ZstdDecoder(const std::string& path)
      : path_(path), file_(std::fopen(path.c_str(), "rb")), stream_(ZSTD_createDStream()) {
    LACT_CHECK(file_ != nullptr, "{}: cannot be opened for reading: {}", path, system_message());
    LACT_CHECK(stream_ != nullptr, "{}: there is no memory to unpack it", path);
  }

  size_t read(char* out, size_t most) override {
    ZSTD_outBuffer output = {out, most, 0};
    while (output.pos < most) {
      if (input_.pos == input_.size && !fill()) {
        LACT_CHECK(frame_is_whole_, "{}: the zst file ends in the middle", path_);
        break;
      }
      const size_t rest = ZSTD_decompressStream(stream_.get(), &output, &input_);
      LACT_CHECK(!ZSTD_isError(rest), "{}: the zst file cannot be unpacked: {}", path_,
                 ZSTD_getErrorName(rest));
      frame_is_whole_ = rest == 0;
    }
    return output.pos;
  }

 private:
  bool fill() {
    const size_t count = std::fread(bytes_.data(), 1, bytes_.size(), file_.get());
    LACT_CHECK(!std::ferror(file_.get()), "{}: cannot be read: {}", path_, system_message());
    input_ = {bytes_.data(), count, 0};
    return count > 0;
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<ZSTD_DStream, Close> stream_;
  std::string bytes_ = std::string(ZSTD_DStreamInSize(), '\0');
  ZSTD_inBuffer input_ = {nullptr, 0, 0};
  bool frame_is_whole_ = true;
};

}  // namespace

UnpackedFile::UnpackedFile(const std::string& path) {
  regular_file_size(path);
  if (is_zstd(first_bytes(path))) {
    decoder_ = std::make_unique<ZstdDecoder>(path);
  } else {
    decoder_ = std::make_unique<GzipDecoder>(path);
  }
}

UnpackedFile::~UnpackedFile() = default;

void UnpackedFile::read(std::string& block, size_t most) {
  block.resize(most);
  block.resize(decoder_->read(block.data(), most));
}

bool is_packed(const std::string& path) {
  const std::string bytes = first_bytes(path);
  return is_gzip(bytes) || is_zstd(bytes);
}

}  // namespace lact::io
