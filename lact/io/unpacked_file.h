// The bytes of a file in blocks, unpacked where it is gzip or Zstandard, in bounded memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace lact::io {

/// A file is known as packed by its first bytes, whatever its name. Mistakes in the file throw lact::Error.
class UnpackedFile {
 public:
  explicit UnpackedFile(const std::string& path);
  ~UnpackedFile();
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;

  /// Replaces `block` by the next bytes, at most `most`; empty only at the end.
  void read(std::string& block, size_t most);

  class Decoder;

 private:
  std::unique_ptr<Decoder> decoder_;
};

/// Whether the contents of the file have another size than the file.
bool is_packed(const std::string& path);

}  // namespace lact::io
