// A half-open range of token positions, [begin, end).
#pragma once

#include <algorithm>
#include <cstdint>

namespace lact {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool contains(int64_t position) const { return begin <= position && position < end; }
  bool operator==(const Range&) const = default;
};

inline Range intersect(Range a, Range b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

}  // namespace lact
