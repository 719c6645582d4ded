#include "lact/io/regular_file.h"

#include <filesystem>
#include <fstream>

#include "lact/base/error.h"

namespace lact::io {

uint64_t regular_file_size(const std::string& path) {
  namespace fs = std::filesystem;
  LACT_CHECK(!path.empty(), "the name of the file to read is empty");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  LACT_CHECK(status.type() != fs::file_type::not_found, "{}: does not exist", path);
  LACT_CHECK(!fs::is_directory(status), "{}: is a folder, expected a file", path);
  LACT_CHECK(status.type() != fs::file_type::none, "{}: cannot be read: {}", path, error.message());
  LACT_CHECK(fs::is_regular_file(status), "{}: cannot be read: it is not a regular file", path);
  const uint64_t size = fs::file_size(path, error);
  LACT_CHECK(!error, "{}: cannot be read: {}", path, error.message());
  return size;
}

std::string read_whole_file(const std::string& path, uint64_t limit) {
  const uint64_t size = regular_file_size(path);
  LACT_CHECK(size <= limit, "{}: the file has {} bytes, expected at most {}", path, size, limit);
  std::ifstream stream(path, std::ios::binary);
  LACT_CHECK(stream, "{}: cannot be opened for reading", path);
  std::string bytes(size, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  LACT_CHECK(static_cast<uint64_t>(stream.gcount()) == size, "{}: reading gave {} bytes, expected {}", path,
             stream.gcount(), size);
  return bytes;
}

}  // namespace lact::io
