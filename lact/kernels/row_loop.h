// Walks over rows, and over the vectors of a row. Only files of kernels/isa/ include this one.
#pragma once

#include "lact/kernels/rows.h"
#include "lact/kernels/simd.h"

namespace lact::kernels {
namespace {

/// The places of rows first, first + 1, ...
struct RowWalk {
  LACT_INLINE RowWalk(const Rows& rows, int64_t first)
      : rows(rows),
        outer(first / (rows.middle_count * rows.inner_count)),
        middle(first / rows.inner_count % rows.middle_count),
        inner(first % rows.inner_count) {}

  LACT_INLINE int64_t place() const {
    return outer * rows.outer_stride + middle * rows.middle_stride + inner * rows.inner_stride;
  }
  LACT_INLINE void next() {
    if (++inner < rows.inner_count) return;
    inner = 0;
    if (++middle < rows.middle_count) return;
    middle = 0;
    ++outer;
  }

  Rows rows;
  int64_t outer, middle, inner;
};

template <class Number>
LACT_INLINE const Number* at(const void* data, const RowWalk& walk) {
  return static_cast<const Number*>(data) + walk.place();
}
template <class Number>
LACT_INLINE Number* at(void* data, const RowWalk& walk) {
  return static_cast<Number*>(data) + walk.place();
}

/// Calls body(first channel, count of lanes) for every vector of a row; whole vectors get a constant count.
template <class Body>
LACT_INLINE void over_row(int64_t width, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) body(i, kLanes);
  if (i < width) body(i, int(width - i));
}

template <class Number>
LACT_INLINE Vec read(const Number* from, int count) {
  return count == kLanes ? load(from) : load_some(from, count);
}
template <class Number>
LACT_INLINE void write(Number* to, Vec value, int count) {
  if (count == kLanes) {
    store(to, value);
  } else {
    store_some(to, value, count);
  }
}

/// silu(x) = x σ(x) and its derivative. Below -87 both are 0 to float32, where e^-x leaves its range.
struct Silu {
  LACT_INLINE explicit Silu(Vec x) {
    const Vec bounded = select(x < -87.f, splat(-87.f), x);  // NaN stays NaN
    share = sigmoid(bounded);
    value = bounded * share;
  }
  /// σ + silu (1 - σ)
  LACT_INLINE Vec slope() const { return share + value * (1.f - share); }
  Vec share, value;
};

}  // namespace
}  // namespace lact::kernels
