#include "lact/data/views/count_range.h"

#include <charconv>

#include "lact/base/error.h"

namespace lact::data {

CountRange CountRange::parse(const std::string& text) {
  CountRange range;
  const char *begin = text.data(), *end = begin + text.size();
  const auto [after_least, least_error] = std::from_chars(begin, end, range.least);
  bool good = least_error == std::errc{};
  range.most = range.least;
  if (good && after_least != end) {
    const auto [after_most, most_error] = std::from_chars(after_least + 1, end, range.most);
    good = *after_least == '-' && most_error == std::errc{} && after_most == end;
  }
  LACT_CHECK(good && range.least <= range.most,
             "\"{}\" is not a number or a range, expected such as 4 or 4-8, the smaller one first", text);
  return range;
}

std::string CountRange::text() const {
  return least == most ? std::to_string(least) : fmt::format("{}-{}", least, most);
}

}  // namespace lact::data
