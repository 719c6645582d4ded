// Text files of any size, plain or gzip, read in blocks. The text is checked to be UTF-8 while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lact/base/fnv.h"
#include "lact/data/text/utf8.h"

namespace lact::data {

/// A file is taken as gzip by its first two bytes, whatever its name. Mistakes in the file throw lact::Error.
class TextFile {
 public:
  static constexpr size_t kBlockBytes = size_t{1} << 20;

  explicit TextFile(const std::string& path, size_t block_bytes = kBlockBytes);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  /// Replaces `block` by the next part of the text, which may end inside a character; false at the end.
  bool next(std::string& block);

  /// Of the text given so far, unpacked.
  uint64_t bytes() const { return bytes_; }
  /// FNV-1a of the text given so far, unpacked.
  std::string hash() const { return hash_.hex(); }

 private:
  struct Stream;

  std::string path_;
  size_t block_bytes_;
  std::unique_ptr<Stream> stream_;
  Utf8Validator validator_;
  Fnv1a hash_;
  uint64_t bytes_ = 0;
};

/// Whether the text of the file has another size than the file.
bool is_packed(const std::string& path);

/// Files stay as given; a folder becomes all .txt, .text, .md and .gz files below it, sorted.
std::vector<std::string> find_text_files(const std::vector<std::string>& paths);

}  // namespace lact::data
