// Tokens [begin, end) of an array.
#pragma once

#include <cstdint>

namespace lact::data {

struct TokenRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const TokenRange&) const = default;
};

}  // namespace lact::data
