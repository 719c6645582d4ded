// Products of 8 rows with two neighbouring panels at once. Where a register holds 16 numbers, 4 x 4 sums need
// fewer loads per product than the 8 x 2 of one panel: on Ice Lake 98 % of the peak instead of 84 %.
#pragma once

#include "lact/kernels/pack.h"

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

/// Tokens, in words, whose products are summed at once: panels of them stay in the first cache.
constexpr int64_t kStretchWords = 112;

#if defined(__AMX_BF16__)
/// A panel [words][32] as left operand: [blocks of 16 words][32][16].
LACT_INLINE void transpose_panel(const uint32_t* panel, int64_t blocks, uint32_t* to) {
  for (int64_t i = 0; i < blocks; ++i, panel += kTileSide * kPanel, to += kTileSide * kPanel) {
    transpose_16(panel, kPanel, to, kTileSide);
    transpose_16(panel + kTileSide, kPanel, to + kTileSide * kTileSide, kTileSide);
  }
}
#endif

/// A panel of up to kStretchWords words, in the form in which outer_sum reads it fastest.
template <class Operand>
class LeftPanel {
 public:
  LACT_INLINE LeftPanel(const uint32_t* panel, int64_t words) : panel_(panel), words_(words) {
#if defined(__AMX_BF16__)
    if constexpr (Operand::kPerWord == 2) transpose_panel(panel, words / kTileSide, transposed_);
#endif
  }

  /// sum [32][32 · panels] += Aᵀ B, with rows of the sum `stride` apart.
  LACT_INLINE void add_outer(const uint32_t* b_panels, int64_t panel_stride, int64_t panels, float* sum,
                             int64_t stride) const {
    int64_t done = 0;
#if defined(__AMX_BF16__)
    if constexpr (Operand::kPerWord == 2) {
      const int64_t blocks = words_ / kTileSide;
      done = blocks * kTileSide;
      for (int64_t p = 0; p < panels && blocks > 0; ++p) {
        tiles_product<true>(
            {transposed_, transposed_ + kTileSide * kTileSide, 4 * kTileSide, kTileSide * kPanel},
            b_panels + p * panel_stride, blocks, sum + p * kPanel, sum + kTileSide * stride + p * kPanel,
            stride);
      }
    }
#endif
    if (done == words_) return;
    for (int r = 0; r < kPanel; r += kTileRows) {
      row_product<Operand, true>({panel_ + done * kPanel + r, 1, kPanel}, b_panels + done * kPanel,
                                 panel_stride, panels, words_ - done, sum + r * stride, stride);
    }
  }

 private:
  const uint32_t* panel_;
  int64_t words_;
#if defined(__AMX_BF16__)
  alignas(64) uint32_t transposed_[Operand::kPerWord == 2 ? kStretchWords * kPanel : kTileSide];
#endif
};

}  // namespace
}  // namespace lact::kernels
