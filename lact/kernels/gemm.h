// Building blocks of matrix products C = A B over float32 and bfloat16 memory: bring a block of A and a few
// panels of B into the forms that the inner loop reads, multiply them. The caller blocks for its caches and
// shares the blocks out.
//
// A word is a float32, or with `pairs` two bfloat16 that follow each other along the depth.
#pragma once

#include <cstdint>

#include "lact/kernels/isa.h"

namespace lact::kernels {

/// Columns of a packed panel of B.
constexpr int64_t kGemmPanel = 32;
/// Packing slivers may write as many words behind the end of each, and products read them: their stride
/// leaves room for that.
constexpr int64_t kGemmOverrun = 32;

/// A matrix in memory: number (row, column) stands at row * row_stride + column * column_stride, one of
/// which is 1.
struct GemmSource {
  const void* data;
  bool bf16;
  int64_t row_stride, column_stride;
};

/// A sliver has room for a multiple of as many words: for tile registers it is packed so many at a time.
constexpr int64_t kSliverWords = 16;

/// A in one of two forms. Rows: words of row r from words + r * stride. Slivers, for sums over the rows of a
/// matrix in memory: word k of row r is [r / tile_rows][k][r % tile_rows], slivers are `stride` words apart.
/// (For tile registers [r / tile_rows][k / 16][r % tile_rows][k % 16].)
struct GemmLeft {
  const uint32_t* words;
  int64_t stride;
  bool slivers;
};

/// B as panels [columns / 32][words of depth][32], `stride` words apart.
struct GemmRight {
  const uint32_t* panels;
  int64_t stride;
};

/// to = A B (+ add) (+ bias in every row). `add` may be `to` itself; both rows are `stride` numbers apart.
struct GemmResult {
  void* to;
  bool bf16;
  int64_t stride;
  const float* add;  ///< or null
  int64_t add_stride;
  const float* bias;  ///< or null
};

/// Memory that is wanted next. While it multiplies, the inner loop asks for a line of it every two words of
/// depth: at `start`, `second` bytes behind that, and so on, both `step` bytes further each time. The next
/// tile begins `across` bytes further, and after every `num_across` tiles `along` bytes further instead.
struct GemmAhead {
  const char* start;  ///< or null
  int64_t second, step, across, num_across, along;
  int64_t num_tiles;
};

struct GemmKernels {
  /// Rows that the inner loop takes at once, and of pairs.
  int64_t tile_rows, pair_rows;

  /// Row form if the rows of `from` are contiguous, else slivers; stride is that of GemmLeft.
  void (*pack_left)(GemmSource from, int64_t rows, int64_t depth, bool pairs, uint32_t* to, int64_t stride);

  /// Panel form of `from` [depth, columns], padded with zeros to 32 columns.
  void (*pack_right)(GemmSource from, int64_t depth, int64_t columns, bool pairs, uint32_t* to,
                     int64_t stride);

  /// depth counts words.
  void (*multiply)(GemmLeft left, GemmRight right, int64_t rows, int64_t columns, int64_t depth, bool pairs,
                   GemmResult result, GemmAhead ahead);
};

LACT_TILE_KERNEL_TABLE(GemmKernels, gemm)

}  // namespace lact::kernels
