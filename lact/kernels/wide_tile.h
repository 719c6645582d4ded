// Products of 8 rows with two neighbouring panels at once. Where a register holds 16 numbers, 4 x 4 sums need
// fewer loads per product than the 8 x 2 of one panel: on Ice Lake 98 % of the peak instead of 84 %.
#pragma once

#include "lact/kernels/tile.h"

namespace lact::kernels {
namespace {

/// c [Rows][64] with rows c_stride apart; the two panels lie panel_stride words apart.
template <class Operand, int Rows, bool Accumulate>
LACT_INLINE void wide_register_tile(Strided a, const uint32_t* b, int64_t panel_stride, int64_t depth,
                                    float* c, int64_t c_stride) {
  constexpr int kVectors = kPanel / kLanes;
  Vec sums[Rows][2 * kVectors] = {};
  const uint32_t *from = a.words, *next = b + panel_stride;
#pragma GCC unroll 4
  for (int64_t k = 0; k < depth; ++k) {
    Bits row[2 * kVectors];
    for (int w = 0; w < kVectors; ++w) {
      row[w] = load_bits(b + w * kLanes);
      row[kVectors + w] = load_bits(next + w * kLanes);
    }
    b += kPanel;
    next += kPanel;
    for (int r = 0; r < Rows; ++r) {
      const Bits factor = splat_bits(from[r * a.row_stride]);
      for (int w = 0; w < 2 * kVectors; ++w) sums[r][w] = Operand::dot(sums[r][w], factor, row[w]);
    }
    from += a.depth_stride;
  }
  for (int r = 0; r < Rows; ++r) {
    for (int w = 0; w < 2 * kVectors; ++w) {
      float* to = c + r * c_stride + w * kLanes;
      store(to, Accumulate ? load(to) + sums[r][w] : sums[r][w]);
    }
  }
}

/// c [8][32 · panels] with rows c_stride apart: = A B, or += A B.
template <class Operand, bool Accumulate>
__attribute__((noinline)) void row_product(Strided a, const uint32_t* b, int64_t panel_stride, int64_t panels,
                                           int64_t depth, float* c, int64_t c_stride) {
  int64_t p = 0;
  if constexpr (kLanes == 16) {
    for (; p + 2 <= panels; p += 2) {
      for (int r = 0; r < kTileRows; r += 4) {
        wide_register_tile<Operand, 4, Accumulate>({a.words + r * a.row_stride, a.row_stride, a.depth_stride},
                                                   b + p * panel_stride, panel_stride, depth,
                                                   c + r * c_stride + p * kPanel, c_stride);
      }
    }
  }
  for (; p < panels; ++p) {
    tile_product<Operand, Accumulate>(a, b + p * panel_stride, depth, c + p * kPanel, c_stride);
  }
}

}  // namespace
}  // namespace lact::kernels
