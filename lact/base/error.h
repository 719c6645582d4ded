// A caller's mistake throws lact::Error with one sentence in the caller's words; `main` turns it into exit
// code 2. A broken invariant of our own is an assertion: it names the line and aborts.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace lact {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// NaN or infinity where a number was expected: a training step that can be skipped, not a caller's mistake.
class NonFinite : public Error {
 public:
  using Error::Error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> sentence, Args&&... args) {
  throw Error(fmt::format(sentence, std::forward<Args>(args)...));
}

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace lact

/// LACT_CHECK(q.dim() == 4, "[window_attention] q has {} dimensions, expected 4", q.dim());
#define LACT_CHECK(condition, ...)               \
  do {                                           \
    if (!(condition)) ::lact::fail(__VA_ARGS__); \
  } while (false)

#define LACT_ASSERT(condition)                                                  \
  do {                                                                          \
    if (!(condition)) ::lact::assertion_failed(#condition, __FILE__, __LINE__); \
  } while (false)
