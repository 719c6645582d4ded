#include "lact/io/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "lact/base/error.h"

namespace lact::io {

TemporaryFolder::TemporaryFolder()
    : path_((std::filesystem::temp_directory_path() / "lact-XXXXXX").string()) {
  LACT_CHECK(mkdtemp(path_.data()) != nullptr, "{}: the folder cannot be made: {}", path_,
             std::generic_category().message(errno));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lact::io
