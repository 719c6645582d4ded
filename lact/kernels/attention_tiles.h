// What the forward and the backward pass of attention share: which part of a tile is visible, and powers of
// two. Only files of kernels/isa/ include this one.
#pragma once

#include "lact/kernels/attention.h"
#include "lact/kernels/pack.h"
#include "lact/kernels/wide_tile.h"

namespace lact::kernels {
namespace {

constexpr float kLog2e = 1.44269504f;

LACT_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
LACT_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// 2^x for x up to 127 within 3 units in the last place; exactly 0 below -126, NaN for NaN.
LACT_INLINE Vec power_of_two(Vec x) {
  // x = n + r. Adding 1.5 · 2^23 rounds to an integer, which then stands in the lowest bits.
  const Vec shifted = x + 12582912.f;
  const Vec r = x - (shifted - 12582912.f);
  Vec p = splat(1.327647217e-3f);
  p = p * r + 9.675541331e-3f;
  p = p * r + 5.550713273e-2f;
  p = p * r + 2.402211972e-1f;
  p = p * r + 6.931469671e-1f;
  p = p * r + 1.f;
#if defined(__AVX512F__)
  const __mmask16 not_tiny = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(-126.f), _CMP_NLT_UQ);
  return (Vec)_mm512_maskz_add_epi32(not_tiny, (__m512i)p, _mm512_slli_epi32((__m512i)shifted, 23));
#else
  return (Vec)(((Bits)p + ((Bits)shifted << 23)) & ~(Bits)(x < -126.f));
#endif
}

/// The same as precise as Operand holds it: bfloat16 keeps 8 bits, and 1e-4 is an eighth of its rounding.
template <class Operand>
LACT_INLINE Vec weight_of(Vec x) {
#if defined(__AVX512DQ__)
  if constexpr (Operand::kPerWord == 2) {
    constexpr int kAboveFloor = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    const Vec r = (Vec)_mm512_reduce_ps((__m512)x, kAboveFloor);
    const Vec p = ((splat(7.802452e-2f) * r + 2.260672e-1f) * r + 6.958335e-1f) * r + 9.999252e-1f;
    return (Vec)_mm512_scalef_ps((__m512)p, (__m512)x);
  }
#endif
  return power_of_two(x);
}

/// 0, 1, 2, ...
LACT_INLINE Ints lane_index() {
  return Ints {
    0, 1, 2, 3
#if defined(__AVX2__)
        ,
        4, 5, 6, 7
#endif
#if defined(__AVX512F__)
        ,
        8, 9, 10, 11, 12, 13, 14, 15
#endif
  };
}

/// All lanes hold the sum or the largest number of x.
template <class Combine>
LACT_INLINE Vec across_lanes(Vec x, Combine combine) {
  for (int step = kLanes / 2; step > 0; step /= 2) {
    x = combine(x, __builtin_shuffle(x, lane_index() ^ step));
  }
  return x;
}
LACT_INLINE float total(Vec x) {
  return across_lanes(x, [](Vec a, Vec b) { return a + b; })[0];
}
LACT_INLINE float top(Vec x) {
  return across_lanes(x, [](Vec a, Vec b) { return maximum(a, b); })[0];
}

/// Queries that are multiplied together: what one product of registers takes.
template <class Operand>
constexpr int64_t kGroupRows = kInTiles<Operand> ? 32 : kTileRows;

/// c [kGroupRows][32 · panels] = A B, or += A B, of a group of rows `row_stride` words apart.
template <class Operand, bool Accumulate>
LACT_INLINE void group_product(const uint32_t* rows, int64_t row_stride, const uint32_t* b,
                               int64_t panel_stride, int64_t panels, int64_t depth, float* c,
                               int64_t c_stride) {
#if defined(__AMX_BF16__)
  if constexpr (kInTiles<Operand>) {
    const TileRows a = {rows, rows + kTileSide * row_stride, 4 * row_stride, kTileSide};
    for (int64_t p = 0; p < panels; ++p, b += panel_stride, c += kPanel) {
      tiles_product<Accumulate>(a, b, depth / kTileSide, c, c + kTileSide * c_stride, c_stride);
    }
    return;
  }
#endif
  row_product<Operand, Accumulate>({rows, row_stride, 1}, b, panel_stride, panels, depth, c, c_stride);
}

/// The panels [begin, end) of 32 keys that a group of queries sees of a tile; `cut` if not every query sees
/// all of their keys.
struct Span {
  int64_t begin, end;
  bool cut;
};

/// Queries [first, last] against the `keys` keys from `first_key` on.
LACT_INLINE Span span_of(const VisibleRows& visible, int64_t first, int64_t last, int64_t first_key,
                         int64_t keys) {
  const int64_t begin = larger(larger(visible.begin, first + visible.oldest) - first_key, 0);
  const int64_t end = smaller(smaller(visible.end, last + visible.newest + 1) - first_key, keys);
  if (begin >= end) return {0, 0, false};
  const Span span = {begin / kPanel, panels_of(end), false};
  const int64_t all_begin = larger(visible.begin, last + visible.oldest) - first_key;
  const int64_t all_end = smaller(smaller(visible.end, first + visible.newest + 1) - first_key, keys);
  return {span.begin, span.end, all_begin > span.begin * kPanel || all_end < span.end * kPanel};
}

/// The keys [begin, end) of a tile that one query sees.
struct Seen {
  int32_t begin, end;
};
LACT_INLINE Seen seen_by(const VisibleRows& visible, int64_t query, int64_t first_key, int64_t keys) {
  return {int32_t(smaller(larger(larger(visible.begin, query + visible.oldest) - first_key, 0), keys)),
          int32_t(larger(smaller(smaller(visible.end, query + visible.newest + 1) - first_key, keys), 0))};
}
/// Where the lanes of columns column, column + 1, ... are visible.
LACT_INLINE Ints visible_lanes(Seen seen, int64_t column) {
  const Ints index = lane_index() + int32_t(column);
  return (index >= seen.begin) & (index < seen.end);
}

/// Keys of `visible` that at least one of the queries [begin, end) sees.
LACT_INLINE VisibleRows narrowed(const VisibleRows& visible, int64_t begin, int64_t end) {
  return {larger(visible.begin, begin + visible.oldest), smaller(visible.end, end + visible.newest),
          visible.oldest, visible.newest};
}

/// pack_panels with zeros behind the last row, up to `padded` of them: what stands there is multiplied by 0.
template <class Operand, class Number>
LACT_INLINE void pack_padded_panels(const Number* from, int64_t stride, int64_t depth, int64_t columns,
                                    int64_t padded, uint32_t* to, int64_t panel_stride) {
  pack_panels<Operand>(from, stride, depth, columns, to, panel_stride);
  for (int64_t panel = 0; panel < panels_of(columns); ++panel) {
    uint32_t* words = to + panel * panel_stride;
    for (int64_t i = words_of<Operand>(depth) * kPanel; i < words_of<Operand>(padded) * kPanel; ++i) {
      words[i] = 0;
    }
  }
}

/// pack_rows with zeros behind the last row, up to `padded` of them.
template <class Operand, class Number>
LACT_INLINE void pack_padded_rows(const Number* from, int64_t stride, int64_t rows, int64_t depth,
                                  int64_t padded, uint32_t* to) {
  pack_rows<Operand>(from, stride, rows, depth, to);
  const int64_t words = words_of<Operand>(depth);
  for (int64_t i = round_up(rows, kTileRows) * words; i < padded * words; ++i) to[i] = 0;
}

/// Hands out pieces of a worker's space, each at the beginning of a cache line; without a space it only
/// counts.
class Carver {
 public:
  explicit Carver(uint32_t* space) : space_(space) {}
  uint32_t* words(int64_t count) {
    uint32_t* piece = space_ == nullptr ? nullptr : space_ + used_;
    used_ += round_up(count, 16);
    return piece;
  }
  float* floats(int64_t count) { return reinterpret_cast<float*>(words(count)); }
  int64_t used() const { return used_; }

 private:
  uint32_t* space_;
  int64_t used_ = 0;
};

template <class Number>
LACT_INLINE const Number* row_of(HeadRows rows, int64_t row) {
  return static_cast<const Number*>(rows.numbers) + row * rows.stride;
}

template <class Number>
LACT_INLINE void write_row(const float* from, int64_t width, float factor, Number* to) {
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) store(to + i, load(from + i) * factor);
  for (; i < width; ++i) narrow(to + i, from[i] * factor);
}

/// Asks for rows [begin, end) early: rows of one head lie far apart, which no hardware foresees.
template <class Number>
LACT_INLINE void ask_for_rows(HeadRows rows, int64_t begin, int64_t end, int64_t width) {
  for (int64_t row = begin; row < end; ++row) {
    const Number* from = row_of<Number>(rows, row);
    for (int64_t i = 0; i < width; i += 64 / int64_t(sizeof(Number))) __builtin_prefetch(from + i);
  }
}

}  // namespace
}  // namespace lact::kernels
