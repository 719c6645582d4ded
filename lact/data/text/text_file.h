// Text files of any size, plain, gzip or Zstandard, read in blocks. The text is checked to be UTF-8 while it
// is read; a byte order mark at its beginning is left out, and lines that end with CR LF end with LF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lact/base/fnv.h"
#include "lact/data/text/utf8.h"
#include "lact/io/unpacked_file.h"

namespace lact::data {

/// Mistakes in the file throw lact::Error.
class TextFile {
 public:
  static constexpr size_t kBlockBytes = size_t{1} << 20;

  /// Blocks have at most block_bytes, and one more where a line's end is cut.
  explicit TextFile(const std::string& path, size_t block_bytes = kBlockBytes);

  /// Replaces `block` by the next part of the text, which may end inside a character; false at the end.
  bool next(std::string& block);

  /// Of the text given so far.
  uint64_t bytes() const { return bytes_; }
  /// FNV-1a of the text given so far.
  std::string hash() const { return hash_.hex(); }

 private:
  void check_utf8(std::string_view raw);
  /// The text of `raw`, which is empty at the end of the file; what cannot be told yet is held back.
  std::string cleaned(std::string_view raw);

  std::string path_;
  size_t block_bytes_;
  io::UnpackedFile file_;
  Utf8Validator validator_;
  uint64_t raw_bytes_ = 0, lines_ = 1;
  std::string held_;  // the beginning of a byte order mark or of CR LF
  bool at_beginning_ = true, at_end_ = false;
  Fnv1a hash_;
  uint64_t bytes_ = 0;
};

/// CR LF becomes LF.
void unify_line_ends(std::string& text);

/// Files stay as given; a folder becomes all .txt, .text, .md, .jsonl, .ndjson, .gz and .zst files below it,
/// sorted.
std::vector<std::string> find_text_files(const std::vector<std::string>& paths);

}  // namespace lact::data
