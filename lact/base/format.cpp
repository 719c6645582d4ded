#include "lact/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace lact {

namespace {

/// The value in the largest unit that leaves at least 1; the first unit is whole, the others have one
/// decimal.
std::string scaled(double value, const char* first, std::initializer_list<const char*> units) {
  if (!std::isfinite(value)) return "?";
  // What would be rounded up to 1000 belongs to the next unit.
  if (std::abs(value) < 999.5) return fmt::format("{:.0f}{}", value, first);
  const char* unit = nullptr;
  for (const char* next : units) {
    if (unit != nullptr && std::abs(value) < 999.95) break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

}  // namespace

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e15) return "?";
  if (seconds > 0 && seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1000);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole % 86400 / 3600);
}

std::string format_bytes(double bytes) { return scaled(bytes, " B", {"kB", "MB", "GB", "TB", "PB"}); }

std::string format_count(double count) { return scaled(count, "", {"k", "M", "B", "T"}); }

std::string as_one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) {
    const bool space = static_cast<unsigned char>(letter) <= ' ';
    if (!space) line += letter;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string last_line(std::string_view text, size_t most) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "";
  const size_t before = text.find_last_of("\r\n", end);
  const size_t first = before == std::string_view::npos ? 0 : before + 1;
  return as_one_line(text.substr(first, std::min(end + 1 - first, most)));
}

}  // namespace lact
