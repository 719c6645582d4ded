// A file's bytes as memory: nothing is copied, a page is fetched when it is first touched.
//
// The mapping is private: writing to it changes this process's pages alone, and a file that is replaced by
// renaming another over it, or removed, stays readable here. What cannot be guarded against is a file that
// is cut short in place while it is mapped: touching what is gone ends the process with SIGBUS. Nothing of
// ours writes into existing files.
#pragma once

#include <cstdint>
#include <string>

namespace lact::io {

class MappedFile {
 public:
  /// Throws one sentence unless `path` is a regular file that can be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }
  uint64_t size() const { return size_; }

  /// Gives back the pages that lie wholly in these bytes, and what was written to them: when they are touched
  /// again they come from the file.
  void release(uint64_t begin, uint64_t end) const;

 private:
  char* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace lact::io
