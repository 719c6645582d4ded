// Matrix products in pieces that one thread works on, for operands in the forms of tile.h.
//   tile form   [rows / n, rounded up][words of depth][n]         the left operand, n = 14 or 8; for tile
//                                                                 registers see kernels/isa/products.cpp
//   panel form  [columns / 32, rounded up][words of depth][32]    the right operand
// A word is a float32, or two bfloat16 that follow each other along the depth. Both forms are padded with
// zeros.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// What a word of a packed operand holds.
enum class Packing { singles, pairs };

/// Rows of numbers in memory, `stride` numbers apart: float32 or bfloat16.
struct NumberRows {
  const void* numbers;
  int64_t stride;
  bool bf16 = false;
};

inline int64_t round_up_to(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }
inline int64_t words_for(Packing packing, int64_t depth) {
  return packing == Packing::pairs ? (depth + 1) / 2 : depth;
}
/// Rows after which tiles of any height begin anew.
constexpr int64_t kTileUnit = 56;
inline int64_t tile_form_words(Packing packing, int64_t rows, int64_t depth) {
  return round_up_to(rows, kTileUnit) * round_up_to(words_for(packing, depth), 16);
}
inline int64_t panel_form_words(Packing packing, int64_t depth, int64_t columns) {
  return round_up_to(columns, 32) * words_for(packing, depth);
}

/// Where a square left operand has zeros that need not be multiplied: behind a row's own number (lower) or
/// before it (upper). What stands there may be multiplied all the same, and must be 0.
enum class Triangle { none, lower, upper };

/// C [rows, 32] = scale · A B + keep · base. `base` may be C; with keep = 0 it is not read.
struct Combine {
  float* c;
  int64_t c_stride;
  float scale = 1;
  float keep = 0;
  const float* base = nullptr;
  int64_t base_stride = 0;
  int64_t first_row = 0;  ///< rows before it are not wanted and may keep what they hold
  Triangle left = Triangle::none;
  const float* keep_rows = nullptr;  ///< factors of the rows of `base`, besides `keep`
};

struct ProductKernels {
  void (*pack_tiles)(Packing packing, NumberRows from, int64_t rows, int64_t depth, uint32_t* to);

  /// The same of Aᵀ, given A [depth, rows].
  void (*pack_tiles_transposed)(Packing packing, NumberRows from, int64_t rows, int64_t depth, uint32_t* to);

  /// B [depth, columns]; panels lie panel_stride words apart.
  void (*pack_panels)(Packing packing, NumberRows from, int64_t depth, int64_t columns, uint32_t* to,
                      int64_t panel_stride);

  /// The same of Bᵀ, given B [columns, depth].
  void (*pack_panels_transposed)(Packing packing, NumberRows from, int64_t depth, int64_t columns,
                                 uint32_t* to, int64_t panel_stride);

  /// The first `rows` of the tile form `a` times one panel.
  void (*panel_product)(Packing packing, const uint32_t* a, const uint32_t* panel, int64_t words,
                        int64_t rows, const Combine& out);

  /// The 32 rows from 32 · panel on of out = scale · (H + Hᵀ) + keep · base; square matrices with a side that
  /// is a multiple of 32, without gaps.
  void (*add_transposed)(const float* h, int64_t side, int64_t panel, float scale, const float* base,
                         float keep, float* out);

  /// Fills the 32 rows from 32 · panel on, left of the diagonal block, from what stands above the diagonal.
  void (*mirror)(float* h, int64_t side, int64_t panel);
};
LACT_TILE_KERNEL_TABLE(ProductKernels, products)

}  // namespace lact::kernels
