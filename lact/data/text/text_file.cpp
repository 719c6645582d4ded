#include "lact/data/text/text_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "lact/base/error.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace fs = std::filesystem;

// zlib reads a file without the magic of gzip as it is, so both kinds take the same path.
struct TextFile::Stream {
  explicit Stream(gzFile opened) : file(opened) {}
  ~Stream() { gzclose_r(file); }
  gzFile file;
};

TextFile::TextFile(const std::string& path, size_t block_bytes) : path_(path), block_bytes_(block_bytes) {
  LACT_ASSERT(block_bytes > 0);
  io::regular_file_size(path);
  errno = 0;
  const gzFile file = gzopen(path.c_str(), "rb");
  LACT_CHECK(file != nullptr, "{}: cannot be opened for reading: {}", path,
             std::generic_category().message(errno));
  stream_ = std::make_unique<Stream>(file);
}

TextFile::~TextFile() = default;

bool TextFile::next(std::string& block) {
  block.resize(block_bytes_);
  const int count = gzread(stream_->file, block.data(), static_cast<unsigned>(block_bytes_));
  int error = Z_OK;
  gzerror(stream_->file, &error);
  // A file that ends too early gives what it has first; the error stays and is seen here.
  LACT_CHECK(error != Z_BUF_ERROR, "{}: the gzip file ends in the middle", path_);
  LACT_CHECK(error != Z_DATA_ERROR, "{}: the gzip file is corrupt", path_);
  LACT_CHECK(count >= 0, "{}: cannot be read: {}", path_, std::generic_category().message(errno));
  block.resize(static_cast<size_t>(count));
  hash_.update(block);
  bytes_ += block.size();
  const auto mistake = block.empty() ? validator_.finish() : validator_.push(block);
  if (mistake) {
    fail("{}: byte {} (0x{:02x}) is not valid UTF-8", path_, mistake->position, mistake->byte);
  }
  return !block.empty();
}

namespace {

bool has_text_name(const fs::path& path) {
  constexpr std::array<std::string_view, 4> kEndings = {".txt", ".text", ".md", ".gz"};
  return std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (has_text_name(entry->path()) && entry->is_regular_file(ignored))
      files.push_back(entry->path().string());
  }
  LACT_CHECK(!error, "{}: the folder cannot be read: {}", folder, error.message());
  LACT_CHECK(!files.empty(), "{}: the folder holds no .txt, .text, .md or .gz file", folder);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

bool is_packed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> magic = {};
  return file.read(magic.data(), magic.size()) && magic == std::array{'\x1f', '\x8b'};
}

std::vector<std::string> find_text_files(const std::vector<std::string>& paths) {
  LACT_CHECK(!paths.empty(), "no text files are given");
  std::vector<std::string> files;
  for (const auto& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      for (auto& file : files_below(path)) files.push_back(std::move(file));
    } else {
      io::regular_file_size(path);
      files.push_back(path);
    }
  }
  return files;
}

}  // namespace lact::data
