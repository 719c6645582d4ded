// Logs go to stderr, results to stdout. Messages are for the person at the terminal: no timestamps, no source
// lines.
#pragma once

#include <fmt/format.h>

#include <string>

namespace lact::log {

enum class Level { info, warning, error };

void write(Level level, const std::string& message);

template <class... Args>
void info(fmt::format_string<Args...> message, Args&&... args) {
  write(Level::info, fmt::format(message, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> message, Args&&... args) {
  write(Level::warning, fmt::format(message, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> message, Args&&... args) {
  write(Level::error, fmt::format(message, std::forward<Args>(args)...));
}

/// Hides info messages (--quiet).
void set_quiet(bool quiet);

/// Whether info messages are hidden.
bool quiet();

}  // namespace lact::log
