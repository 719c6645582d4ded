// One process at a time, by a lock on a file.
#pragma once

#include <string>

namespace lact::io {

/// Opens the file, which is made if need be, and locks it. The lock ends when the descriptor is closed, and
/// with the process, however that ends. Throws the sentence `taken` where another process has it. A file
/// system without locks is warned of, and used all the same.
int open_locked(const std::string& file, const std::string& taken);

}  // namespace lact::io
