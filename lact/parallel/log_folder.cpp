#include "lact/parallel/log_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "lact/base/error.h"

namespace lact::parallel {

namespace fs = std::filesystem;

LogFolder::LogFolder(const std::string& folder) : path_(folder), temporary_(folder.empty()) {
  std::error_code error;
  if (temporary_) {
    path_ = (fs::temp_directory_path(error) / "lact-launch-XXXXXX").string();
    if (!error && mkdtemp(path_.data()) == nullptr) error.assign(errno, std::generic_category());
  } else {
    fs::create_directories(path_, error);
  }
  LACT_CHECK(!error, "[launch] the log folder {} cannot be made: {}", path_, error.message());
}

LogFolder::~LogFolder() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(path_, ignored);
}

std::string LogFolder::file(int64_t rank) const {
  return (fs::path(path_) / fmt::format("rank_{}.log", rank)).string();
}

void LogFolder::clear(int64_t rank) const {
  const int log = open(file(rank).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  LACT_CHECK(log >= 0, "[launch] the log {} cannot be written: {}", file(rank),
             std::generic_category().message(errno));
  close(log);
}

}  // namespace lact::parallel
