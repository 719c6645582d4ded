#include "lact/io/text_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lact/base/error.h"

namespace lact::io {

namespace {

constexpr std::string_view kBlanks = " \t\r\v\f";

/// At most 40 bytes of a word, and only printable ones, so that a sentence stays a sentence.
std::string shown_word(std::string_view word) {
  std::string shown;
  for (const char byte : word.substr(0, 40)) shown += byte > ' ' && byte <= '~' ? byte : '?';
  return shown;
}

}  // namespace

void TextLines::mistake(const std::string& sentence) const {
  fail("{}: line {}: {}", path_, number_, sentence);
}

bool TextLines::next_line() {
  while (!rest_.empty()) {
    const size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    line_ = line_.substr(0, line_.find('#'));
    const size_t first = line_.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) continue;
    line_.remove_prefix(first);
    return true;
  }
  return false;
}

std::string_view TextLines::word() {
  const size_t first = line_.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  line_.remove_prefix(first);
  const std::string_view result = line_.substr(0, line_.find_first_of(kBlanks));
  line_.remove_prefix(result.size());
  return result;
}

int TextLines::words_left(int most) const {
  std::string_view rest = line_;
  for (int words = 0;; ++words) {
    const size_t first = rest.find_first_not_of(kBlanks);
    if (words == most || first == std::string_view::npos) return words;
    rest.remove_prefix(first);
    rest.remove_prefix(std::min(rest.find_first_of(kBlanks), rest.size()));
  }
}

std::string_view TextLines::remainder() {
  const size_t first = line_.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return line_.substr(first, line_.find_last_not_of(kBlanks) - first + 1);
}

double TextLines::number(std::string_view what) {
  const std::string_view text = word();
  if (text.empty()) mistake(fmt::format("{} has too few numbers", what));
  double value = 0;
  const bool plus = text.front() == '+';
  const auto [end, error] = std::from_chars(text.data() + (plus ? 1 : 0), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (error != std::errc{} || !whole || !std::isfinite(value) || std::fabs(value) > 1e18) {
    mistake(fmt::format("{} has '{}', expected a number", what, shown_word(text)));
  }
  return value;
}

}  // namespace lact::io
