#include "lact/models/lm/stop_strings.h"

#include <algorithm>
#include <string_view>

namespace lact::models {

bool StopStringFilter::add(const std::string& bytes) {
  text_ += bytes;
  size_t first = std::string::npos;
  for (const auto& stop : stops_) {
    const size_t place = text_.find(stop, passed_);
    if (place >= first) continue;
    first = place;
    stopping_word_ = stop;
  }
  if (first == std::string::npos) return false;
  text_.resize(first);
  return true;
}

std::string StopStringFilter::take(bool last) {
  size_t end = text_.size();
  if (!last) {
    for (const auto& stop : stops_) end = std::min(end, text_.size() - overlap(stop));
  }
  const std::string certain = end > passed_ ? text_.substr(passed_, end - passed_) : "";
  passed_ = std::max(passed_, end);
  return certain;
}

size_t StopStringFilter::overlap(const std::string& stop) const {
  for (size_t length = std::min(stop.size() - 1, text_.size() - passed_); length > 0; --length) {
    if (std::string_view(text_).substr(text_.size() - length) == std::string_view(stop).substr(0, length)) {
      return length;
    }
  }
  return 0;
}

}  // namespace lact::models
