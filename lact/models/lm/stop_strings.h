// Stop strings in a text that is being written: where it ends, and how much of it is certain.
#pragma once

#include <string>
#include <vector>

namespace lact::models {

/// Holds back what may still become a stop string.
class StopStringFilter {
 public:
  explicit StopStringFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// True if a stop string is complete; the text then ends before it.
  bool add(const std::string& bytes);

  /// What became certain since the last call; all of it if nothing follows.
  std::string take(bool last);

  const std::string& text() const { return text_; }
  const std::string& stopping_word() const { return stopping_word_; }  ///< "" if none is complete

 private:
  /// The longest beginning of `stop` that the text ends with.
  size_t overlap(const std::string& stop) const;

  std::vector<std::string> stops_;
  std::string text_, stopping_word_;
  size_t passed_ = 0;
};

}  // namespace lact::models
