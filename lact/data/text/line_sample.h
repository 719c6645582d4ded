// A part of a text of any size, chosen at random in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lact::data {

/// Keeps all lines while they fit. Otherwise each line of the text is as likely to be among the kept ones,
/// which take between about half of the room and all of it. The same lines give the same sample.
class LineSample {
 public:
  explicit LineSample(size_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string line);

  /// Of the text, and of them in the sample.
  uint64_t num_seen() const { return num_seen_; }
  size_t num_kept() const { return kept_.size(); }
  /// What the sample takes in memory.
  size_t bytes() const { return bytes_; }

  /// The line at a place from 0 to num_kept(), in the order of the text; it is given away.
  std::string take(size_t index) { return std::move(kept_[index].line); }

 private:
  struct Kept {
    uint64_t lot;  ///< drawn for each line: those below the limit stay
    std::string line;
  };

  size_t most_bytes_, bytes_ = 0;
  uint64_t num_seen_ = 0, limit_ = UINT64_MAX;
  std::vector<Kept> kept_;
};

}  // namespace lact::data
