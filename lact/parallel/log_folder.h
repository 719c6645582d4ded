// Where the ranks of a job write what they have to say.
#pragma once

#include <cstdint>
#include <string>

namespace lact::parallel {

class LogFolder {
 public:
  /// Makes the folder, or a temporary one for "".
  explicit LogFolder(const std::string& folder);
  /// Removes a temporary one that is not kept.
  ~LogFolder();
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;

  /// The file of a rank.
  std::string file(int64_t rank) const;
  /// Empties it: what an earlier job wrote is not of this one. Throws one sentence if that cannot be done.
  void clear(int64_t rank) const;

  const std::string& path() const { return path_; }
  void keep() { temporary_ = false; }

 private:
  std::string path_;
  bool temporary_;
};

}  // namespace lact::parallel
