#include "lact/base/format.h"

#include <fmt/format.h>

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

}  // namespace lact
