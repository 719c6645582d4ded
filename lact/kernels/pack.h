// Brings matrices into the forms that tile.h multiplies, padded with zeros: rows to a multiple of 8, panels
// to 32 columns, the depth to a whole number of words. Only files of kernels/isa/ include this one.
#pragma once

#include "lact/kernels/tall_tile.h"

namespace lact::kernels {
namespace {

LACT_INLINE int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }
LACT_INLINE int64_t panels_of(int64_t columns) { return (columns + kPanel - 1) / kPanel; }

/// Words that hold `depth` numbers.
template <class Operand>
LACT_INLINE int64_t words_of(int64_t depth) {
  return (depth + Operand::kPerWord - 1) / Operand::kPerWord;
}

/// One row of `depth` numbers, each times `scale`, padded to `words`.
template <class Operand, class Number>
LACT_INLINE void pack_row(const Number* row, int64_t depth, int64_t words, uint32_t* to, float scale) {
  auto* numbers = reinterpret_cast<typename Operand::Number*>(to);
  const int64_t end = words * Operand::kPerWord;
  int64_t i = 0;
  for (; i + kLanes <= depth; i += kLanes) store(numbers + i, load(row + i) * scale);
  for (; i < depth; ++i) narrow(numbers + i, widen(row[i]) * scale);
  for (; i < end; ++i) narrow(numbers + i, 0.f);
}

/// Up to 32 numbers of a row, and zeros after them.
template <class Operand, class Number>
LACT_INLINE void pack_slab_row(const Number* row, int64_t filled, uint32_t* to) {
  auto* numbers = reinterpret_cast<typename Operand::Number*>(to);
  for (int v = 0; v < kPanel; v += kLanes) {
    store(numbers + v, v + kLanes <= filled ? load(row + v) : load_some(row + v, filled - v));
  }
}

/// Row form: [rows rounded up to 8][words of depth], from rows of numbers `stride` apart, each times `scale`.
template <class Operand, class Number>
inline void pack_rows(const Number* from, int64_t stride, int64_t rows, int64_t depth, uint32_t* to,
                      float scale = 1) {
  const int64_t words = words_of<Operand>(depth);
  for (int64_t r = 0; r < round_up(rows, kTileRows); ++r, to += words)
    pack_row<Operand>(from + r * stride, r < rows ? depth : 0, words, to, scale);
}

/// The word with the numbers (k, column) and, for pairs, (k + 1, column) of `kLanes` columns.
template <class Operand>
LACT_INLINE Bits word_of(Vec even, Vec odd) {
  if constexpr (Operand::kPerWord == 1) return (Bits)even;
  return interleave(even, odd);
}

/// Panel form of B [depth, columns] whose rows lie `stride` apart: [panels][words of depth][32]. Panels lie
/// `panel_stride` words apart.
template <class Operand, class Number>
inline void pack_panels(const Number* from, int64_t stride, int64_t depth, int64_t columns, uint32_t* to,
                        int64_t panel_stride) {
  constexpr int kStep = Operand::kPerWord;
  for (int64_t k = 0; k < depth; k += kStep) {
    const Number* row = from + k * stride;
    const bool second = kStep == 2 && k + 1 < depth;
    for (int64_t p = 0; p < panels_of(columns); ++p) {
      uint32_t* words = to + p * panel_stride + k / kStep * kPanel;
      for (int v = 0; v < kPanel; v += kLanes) {
        const int64_t column = p * kPanel + v, left = columns - column;
        Vec even, odd = {};
        if (left >= kLanes) {
          even = load(row + column);
          if (second) odd = load(row + stride + column);
        } else {
          even = load_some(row + column, left);
          if (second) odd = load_some(row + stride + column, left);
        }
        store_bits(words + v, word_of<Operand>(even, odd));
      }
    }
  }
}

/// to[j][i] = from[i][j] for 16 x 16 words.
LACT_INLINE void transpose_16(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
#if defined(__AVX512F__)
  __m512i a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(from + i * from_stride);
  for (int i = 0; i < 8; ++i) {
    b[2 * i] = _mm512_unpacklo_epi32(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm512_unpackhi_epi32(a[2 * i], a[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    a[4 * i] = _mm512_unpacklo_epi64(b[4 * i], b[4 * i + 2]);
    a[4 * i + 1] = _mm512_unpackhi_epi64(b[4 * i], b[4 * i + 2]);
    a[4 * i + 2] = _mm512_unpacklo_epi64(b[4 * i + 1], b[4 * i + 3]);
    a[4 * i + 3] = _mm512_unpackhi_epi64(b[4 * i + 1], b[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    b[i] = _mm512_shuffle_i32x4(a[i], a[4 + i], 0x88);
    b[4 + i] = _mm512_shuffle_i32x4(a[i], a[4 + i], 0xdd);
    b[8 + i] = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0x88);
    b[12 + i] = _mm512_shuffle_i32x4(a[8 + i], a[12 + i], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    _mm512_storeu_si512(to + i * to_stride, _mm512_shuffle_i32x4(b[i], b[8 + i], 0x88));
    _mm512_storeu_si512(to + (8 + i) * to_stride, _mm512_shuffle_i32x4(b[i], b[8 + i], 0xdd));
    _mm512_storeu_si512(to + (4 + i) * to_stride, _mm512_shuffle_i32x4(b[4 + i], b[12 + i], 0x88));
    _mm512_storeu_si512(to + (12 + i) * to_stride, _mm512_shuffle_i32x4(b[4 + i], b[12 + i], 0xdd));
  }
#else
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
#endif
}

/// Whether numbers already stand in memory as the words of an operand, so that a whole block of them needs no
/// copy before it is transposed.
template <class Operand, class Number>
LACT_INLINE bool in_words(int64_t stride) {
  return kLanes == 16 && sizeof(Number) == sizeof(typename Operand::Number) &&
         stride % Operand::kPerWord == 0;
}

/// 16 rows of up to 16 words as words: zeros after the last row and number.
template <class Operand, class Number>
LACT_INLINE void read_block(const Number* from, int64_t stride, int64_t rows, int64_t first, int64_t depth,
                            uint32_t* block) {
  constexpr int kBlock = 16, kNumbers = kBlock * Operand::kPerWord;
  for (int64_t i = 0; i < kBlock; ++i) {
    auto* numbers = reinterpret_cast<typename Operand::Number*>(block + i * kBlock);
    const Number* row = from + i * stride + first;
    const int64_t filled = i < rows ? (depth - first < kNumbers ? depth - first : kNumbers) : 0;
    int64_t j = 0;
    for (; j + kLanes <= filled; j += kLanes) store(numbers + j, load(row + j));
    for (; j < filled; ++j) narrow(numbers + j, widen(row[j]));
    for (; j < kNumbers; ++j) narrow(numbers + j, 0.f);
  }
}

/// Tile form, the left operand as the inner loop reads it: [rows / kTallRows][words of depth][kTallRows]; a
/// tile is one stream of memory.
template <class Operand, class Number>
inline void pack_tiles(const Number* from, int64_t stride, int64_t rows, int64_t depth, uint32_t* to) {
  constexpr int kBlock = 16;
  const int64_t words = words_of<Operand>(depth);
  alignas(64) uint32_t block[kBlock * kBlock], transposed[kBlock * kBlock];
  for (int64_t row = 0; row < rows; row += kTallRows) {
    const int64_t count = rows - row < kTallRows ? rows - row : kTallRows;
    uint32_t* tile = to + row * words;
    for (int64_t word = 0; word < words; word += kBlock) {
      const int64_t first = word * Operand::kPerWord;
      if (in_words<Operand, Number>(stride) && row + kBlock <= rows &&
          first + kBlock * Operand::kPerWord <= depth) {
        // Rows behind the tile's are read along.
        transpose_16(reinterpret_cast<const uint32_t*>(from + row * stride + first),
                     stride / Operand::kPerWord, transposed, kBlock);
      } else {
        read_block<Operand>(from + row * stride, stride, count, first, depth, block);
        transpose_16(block, kBlock, transposed, kBlock);
      }
      const int64_t left = words - word < kBlock ? words - word : kBlock;
      for (int64_t j = 0; j < left; ++j, tile += kTallRows) {
        const uint32_t* column = transposed + j * kBlock;
        if (word + j + 1 < words && kLanes == kBlock) {
          store_bits(tile, load_bits(column));  // the next one overwrites what is too much
        } else {
          for (int i = 0; i < kTallRows; ++i) tile[i] = column[i];
        }
      }
    }
  }
}

/// Panel form of Bᵀ, given B [columns, depth]: a weight [out, in] becomes the right operand of x Wᵀ.
template <class Operand, class Number>
inline void pack_panels_transposed(const Number* from, int64_t stride, int64_t depth, int64_t columns,
                                   uint32_t* to, int64_t panel_stride) {
  constexpr int kBlock = 16;
  const int64_t words = words_of<Operand>(depth);
  alignas(64) uint32_t block[kBlock * kBlock], transposed[kBlock * kBlock];
  for (int64_t column = 0; column < round_up(columns, kPanel); column += kBlock) {
    uint32_t* panel = to + column / kPanel * panel_stride + column % kPanel;
    for (int64_t word = 0; word < words; word += kBlock) {
      const int64_t first = word * Operand::kPerWord;
      if (in_words<Operand, Number>(stride) && column + kBlock <= columns &&
          first + kBlock * Operand::kPerWord <= depth) {
        transpose_16(reinterpret_cast<const uint32_t*>(from + column * stride + first),
                     stride / Operand::kPerWord, panel + word * kPanel, kPanel);
        continue;
      }
      read_block<Operand>(from + column * stride, stride, columns - column, first, depth, block);
      const int64_t count = words - word < kBlock ? words - word : kBlock;
      if (count == kBlock) {
        transpose_16(block, kBlock, panel + word * kPanel, kPanel);
      } else {
        transpose_16(block, kBlock, transposed, kBlock);
        for (int64_t j = 0; j < count; ++j) {
          for (int i = 0; i < kBlock; ++i) panel[(word + j) * kPanel + i] = transposed[j * kBlock + i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace lact::kernels
