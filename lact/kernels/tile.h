// The one inner loop of every matrix product: 8 x 32 numbers of C = A B, kept in registers over the whole
// depth.
//
// Both operands are made of 32-bit words: a float32, or a pair of bfloat16 that follow each other along the
// depth.
//   B is a panel: [depth][32] words.
//   A is anything: word (row, k) stands at a[row * row_stride + k * depth_stride]. Rows of tokens are
//   (stride, 1); a panel read the other way round, for sums over tokens, is (1, 32).
#pragma once

#include "lact/kernels/simd.h"

namespace lact::kernels {
namespace {

constexpr int kTileRows = 8;
constexpr int kPanel = 32;

/// float32 operands: a word is one number.
struct Singles {
  static constexpr int kPerWord = 1;
  using Number = float;
  static LACT_INLINE Vec dot(Vec sum, Bits a, Bits b) { return sum + (Vec)a * (Vec)b; }
};

/// bfloat16 operands: a word is two numbers.
struct Pairs {
  static constexpr int kPerWord = 2;
  using Number = uint16_t;
  static LACT_INLINE Vec dot(Vec sum, Bits a, Bits b) {
#if defined(__AVX512BF16__)
    return (Vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
    sum = sum + (Vec)(a << 16) * (Vec)(b << 16);
    return sum + (Vec)(a & 0xffff0000) * (Vec)(b & 0xffff0000);
#endif
  }
};

struct Strided {
  const uint32_t* words;
  int64_t row_stride, depth_stride;
};

// As many sums as the registers hold: 8 x 2 of 32, or 4 x 2 of 16.
constexpr int kRowsAtOnce = kLanes == 16 ? 8 : 4;
constexpr int kWidth = 2;

template <class Operand, int Rows, bool Accumulate>
LACT_INLINE void register_tile(Strided a, const uint32_t* b, int64_t depth, float* c, int64_t c_stride) {
  Vec sums[Rows][kWidth] = {};
  const uint32_t* from = a.words;
#pragma GCC unroll 4  // the loop itself would cost a tenth
  for (int64_t k = 0; k < depth; ++k) {
    Bits row[kWidth];
    for (int w = 0; w < kWidth; ++w) row[w] = load_bits(b + w * kLanes);
    b += kPanel;
    for (int r = 0; r < Rows; ++r) {
      const Bits factor = splat_bits(from[r * a.row_stride]);
      for (int w = 0; w < kWidth; ++w) sums[r][w] = Operand::dot(sums[r][w], factor, row[w]);
    }
    from += a.depth_stride;
  }
  for (int r = 0; r < Rows; ++r) {
    for (int w = 0; w < kWidth; ++w) {
      float* to = c + r * c_stride + w * kLanes;
      store(to, Accumulate ? load(to) + sums[r][w] : sums[r][w]);
    }
  }
}

/// c [8][32] with rows c_stride apart: = A B, or += A B.
template <class Operand, bool Accumulate>
LACT_INLINE void tile_product(Strided a, const uint32_t* b, int64_t depth, float* c, int64_t c_stride) {
  for (int r = 0; r < kTileRows; r += kRowsAtOnce) {
    for (int column = 0; column < kPanel; column += kWidth * kLanes) {
      register_tile<Operand, kRowsAtOnce, Accumulate>(
          {a.words + r * a.row_stride, a.row_stride, a.depth_stride}, b + column, depth,
          c + r * c_stride + column, c_stride);
    }
  }
}

}  // namespace
}  // namespace lact::kernels
