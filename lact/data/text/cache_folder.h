// Where token files may be kept.
#pragma once

#include <string>
#include <vector>

namespace lact::data {

/// The folders to look in, best first: .lact-cache beside `path`, $XDG_CACHE_HOME/lact, ~/.cache/lact,
/// /tmp/lact-cache-<user>.
std::vector<std::string> cache_folders(const std::string& path);

/// Makes the folder if it is not there; false if it cannot or should not be written to.
bool make_writable_folder(const std::string& folder);

}  // namespace lact::data
