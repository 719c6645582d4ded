#include "lact/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lact/base/error.h"
#include "lact/io/regular_file.h"

namespace lact::io {

MappedFile::MappedFile(const std::string& path) {
  regular_file_size(path);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  LACT_CHECK(file >= 0, "{}: cannot be opened for reading", path);
  struct stat status = {};
  const bool known = fstat(file, &status) == 0;
  size_ = known ? uint64_t(status.st_size) : 0;
  void* memory = nullptr;
  int error = known ? 0 : errno;
  if (size_ > 0) {
    memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
    if (memory == MAP_FAILED) error = errno;
  }
  close(file);
  LACT_CHECK(error == 0, "{}: cannot be mapped into memory: {}", path, std::strerror(error));
  data_ = static_cast<char*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

void MappedFile::release(uint64_t begin, uint64_t end) const {
  static const auto page = uint64_t(sysconf(_SC_PAGESIZE));
  const uint64_t first = (begin + page - 1) / page * page, last = end / page * page;
  if (first < last) madvise(data_ + first, last - first, MADV_DONTNEED);
}

}  // namespace lact::io
