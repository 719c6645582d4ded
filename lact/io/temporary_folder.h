// A folder of its own for files that are needed for a while; it goes with all that is in it.
#pragma once

#include <string>

namespace lact::io {

class TemporaryFolder {
 public:
  /// In the system's folder for such; throws a sentence if it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lact::io
