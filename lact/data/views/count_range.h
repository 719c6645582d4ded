// How many views: a number, or any from one number to another.
#pragma once

#include <cstdint>
#include <string>

#include "lact/base/random.h"

namespace lact::data {

struct CountRange {
  int64_t least = 1, most = 1;

  constexpr CountRange() = default;
  constexpr CountRange(int64_t count) : least(count), most(count) {}  // NOLINT: a number is a range of one
  constexpr CountRange(int64_t least, int64_t most) : least(least), most(most) {}
  bool operator==(const CountRange&) const = default;

  int64_t draw(Random& random) const { return least + (most > least ? random.below(most - least + 1) : 0); }

  /// "4", or "4-8" with both ends. Throws a sentence for anything else.
  static CountRange parse(const std::string& text);
  std::string text() const;
  static constexpr bool kMayBeNumber = true;  ///< in JSON
};

}  // namespace lact::data
