// A client of a language-model server on this machine that looks at its watch.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lact/base/options.h"

namespace lact::bench {

/// What came back, and when.
struct StreamedText {
  std::vector<int64_t> tokens;
  double first_seconds = 0;  ///< from the request to the first token
  double later_seconds = 0;  ///< from there to the last
  bool whole = false;        ///< it was read to its end
  int64_t cached_tokens = 0;
};

class ServeClient {
 public:
  explicit ServeClient(int port) : port_(port) {}

  /// Posts to /completion and reads the stream; hangs up after `leave_after` tokens. Throws what goes wrong.
  StreamedText stream(options::Json body, std::optional<int64_t> leave_after = std::nullopt) const;

  /// The answer to a plain request; other than 2xx throws.
  options::Json post(const std::string& path, const options::Json& body) const;

 private:
  int port_;
};

}  // namespace lact::bench
