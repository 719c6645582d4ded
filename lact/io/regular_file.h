// Reading files that a user names: a missing file, a folder or a device is one sentence.
#pragma once

#include <cstdint>
#include <string>

namespace lact::io {

/// Throws unless `path` is a regular file; gives its size in bytes.
uint64_t regular_file_size(const std::string& path);

/// All bytes of a file of at most `limit` bytes.
std::string read_whole_file(const std::string& path, uint64_t limit);

}  // namespace lact::io
