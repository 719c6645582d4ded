// A zip archive whose files are stored, not compressed, as PyTorch writes them; zip64 too. Nothing in it is
// trusted: every offset and size is checked against the file before it is used.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace lact::io {

class StoredZip {
 public:
  /// Reads the list of files. Throws lact::Error that names the file.
  explicit StoredZip(const std::string& path);

  bool has(const std::string& name) const { return entries_.count(name) > 0; }

  /// The names, sorted.
  std::vector<std::string> names() const;

  /// Of the archive itself.
  uint64_t file_bytes() const { return file_bytes_; }

  /// Bytes of a file of the archive; throws if there is none of this name.
  uint64_t size_of(const std::string& name) const;

  /// Its bytes, all of them: size_of(name).
  void read(const std::string& name, void* bytes);
  std::string read_text(const std::string& name, uint64_t most_bytes);

 private:
  struct Entry {
    uint64_t header = 0, size = 0;
  };
  struct Directory {
    uint64_t entries = 0, size = 0, offset = 0;
  };

  const Entry& entry(const std::string& name) const;
  void read_at(uint64_t offset, void* bytes, uint64_t count);
  Directory find_directory();
  void read_directory(const Directory& directory);

  std::string path_;
  std::ifstream stream_;
  uint64_t file_bytes_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace lact::io
