#include "lact/kernels/gemm.h"

#include <type_traits>

#include "lact/kernels/pack.h"
#include "lact/kernels/tall_tile.h"

namespace lact::kernels::LACT_ISA {
extern const GemmKernels gemm;
namespace {

static_assert(kGemmPanel == kPanel && kGemmOverrun >= kLanes);

// As many sums as the registers hold beside two vectors of B and a factor: 14 x 2 of 32, 6 x 2 of 16. For
// long depths the taller tile beats the 8 x 2 of tile.h by a tenth: it loads less of B.
constexpr int kRows = kLanes == 16 ? 14 : 6;

/// Words [depth / 16][Height][16] of which the first rows are meant.
template <int Height>
struct BlockForm {
  LACT_INLINE explicit BlockForm(const uint32_t* words) : from(words) {}
  LACT_INLINE uint32_t word(int row, int k) const { return from[row * kBlockWords + k]; }
  LACT_INLINE void advance(int words) {
    from += words, done += words;
    if (done % kBlockWords == 0) from += (Height - 1) * kBlockWords;
  }
  static constexpr int kBlockWords = 16;
  const uint32_t* from;
  int64_t done = 0;
};

/// How a tile begins in each of the forms of A.
struct InRows {
  static constexpr bool kInRows = true;
  static constexpr int kRowWords = 0;
  template <int Rows>
  static LACT_INLINE RowForm<Rows> at(const uint32_t* words, int64_t stride) {
    return {words, stride};
  }
};
struct InSlivers {
  static constexpr bool kInRows = false;
  static constexpr int kRowWords = 1;  ///< between rows of a sliver
  template <int Rows>
  static LACT_INLINE SliverForm<kRows> at(const uint32_t* words, int64_t) {
    return SliverForm<kRows>(words);
  }
};
/// Slivers for tile registers: [words / 16][14][16].
struct InBlocks {
  static constexpr bool kInRows = false;
  static constexpr int kRowWords = 16;
  template <int Rows>
  static LACT_INLINE BlockForm<kRows> at(const uint32_t* words, int64_t) {
    return BlockForm<kRows>(words);
  }
};

template <class Number>
void finish_as(const float* sums, int rows, int64_t columns, const GemmResult& result, int64_t row,
               int64_t first) {
  Number* to = static_cast<Number*>(result.to) + row * result.stride + first;
  const float* add = result.add ? result.add + row * result.add_stride + first : nullptr;
  const float* bias = result.bias ? result.bias + first : nullptr;
  for (int r = 0; r < rows; ++r) {
    for (int64_t column = 0; column < columns && column < kWidth * kLanes; column += kLanes) {
      const int64_t left = columns - column;
      Vec value = load(sums + r * kWidth * kLanes + column);
      const bool whole = left >= kLanes;
      if (add != nullptr) {
        const float* from = add + r * result.add_stride + column;
        value += whole ? load(from) : load_some(from, left);
      }
      if (bias != nullptr) value += whole ? load(bias + column) : load_some(bias + column, left);
      if (whole)
        store(to + r * result.stride + column, value);
      else
        store_some(to + r * result.stride + column, value, left);
    }
  }
}

/// What the caller asked for, of a tile at (row, column) of the result that lies in `sums`
/// [rows][kWidth * kLanes]; `columns` of it are wanted.
void finish(const float* sums, int rows, int64_t columns, const GemmResult& result, int64_t row,
            int64_t column) {
  if (result.bf16)
    finish_as<uint16_t>(sums, rows, columns, result, row, column);
  else
    finish_as<float>(sums, rows, columns, result, row, column);
}

/// Follows a GemmAhead from tile to tile.
struct Ahead {
  LACT_INLINE explicit Ahead(const GemmAhead& plan, const void* at_hand)
      : plan(plan), row(plan.start), line(plan.start), at_hand(static_cast<const char*>(at_hand)) {
    if (plan.num_tiles == 0 || plan.start == nullptr) stop();
  }
  LACT_INLINE void next_tile() {
    if (++tiles >= plan.num_tiles) return stop();
    line += plan.across;
    if (++count < plan.num_across) return;
    count = 0;
    line = row += plan.along;
  }
  /// Asking for what is at hand costs nothing.
  LACT_INLINE void stop() {
    plan = {};
    line = at_hand;
  }
  GemmAhead plan;
  const char *row, *line, *at_hand;
  int64_t tiles = 0, count = 0;
};

/// Where the memory of a tile of the result begins: what is added to, or else what is written.
struct Place {
  const char* line;
  int64_t bytes, stride;
};
LACT_INLINE Place place_of(const GemmResult& result, int64_t row, int64_t column) {
  const bool adds = result.add != nullptr;
  const int64_t size = !adds && result.bf16 ? 2 : 4, stride = adds ? result.add_stride : result.stride;
  const auto* start = static_cast<const char*>(adds ? result.add : result.to);
  return {start + (row * stride + column) * size, kWidth * kLanes * size, stride * size};
}

/// A tile of Rows x (kWidth * kLanes) at (row, column) of the result; `columns` of it are wanted.
template <class Operand, class Left, int Rows>
void tile(const uint32_t* left, int64_t left_stride, const uint32_t* b, int64_t depth, int64_t columns,
          const GemmResult& result, int64_t row, int64_t column, Ahead& ahead) {
  const float* add = result.add ? result.add + row * result.add_stride + column : nullptr;
  const bool plain = !result.bf16 && result.bias == nullptr && columns >= kWidth * kLanes;
  Vec sums[Rows][kWidth] = {};
  auto a = Left::template at<Rows>(left, left_stride);
  // Asks for a line with every two words, first of the result, then of what is wanted next: a burst would
  // hold up the loads of B.
  const Place own = place_of(result, row, column);
  const char *line = own.line, *other = line + own.bytes - 1;
  int64_t step = own.stride;
  const uint32_t* const last = b + depth / 2 * 2 * kPanel;
  const uint32_t* end = 4 * Rows < depth ? b + 4 * Rows * kPanel : last;
  for (;;) {
    for (; b != end; b += 2 * kPanel) {
      __builtin_prefetch(line, 0, 2);
      const char* const next = line + step;
      line = other;
      other = next;
      add_products<Operand>(a, 0, b, sums);
      add_products<Operand>(a, 1, b + kPanel, sums);
      a.advance(2);
    }
    if (end == last) break;
    line = ahead.line, other = line + ahead.plan.second, step = ahead.plan.step, end = last;
  }
  if (depth % 2 != 0) add_products<Operand>(a, 0, b, sums);
  ahead.next_tile();

  if (plain) {
    float* to = static_cast<float*>(result.to) + row * result.stride + column;
    for (int r = 0; r < Rows; ++r) {
      for (int w = 0; w < kWidth; ++w) {
        if (add != nullptr) sums[r][w] += load(add + r * result.add_stride + w * kLanes);
        store(to + r * result.stride + w * kLanes, sums[r][w]);
      }
    }
    return;
  }
  alignas(64) float kept[Rows * kWidth * kLanes];
  for (int r = 0; r < Rows; ++r) {
    for (int w = 0; w < kWidth; ++w) store(kept + (r * kWidth + w) * kLanes, sums[r][w]);
  }
  finish(kept, Rows, columns, result, row, column);
}

#if defined(__AMX_BF16__)
/// Rows of A as two times 16 rows of tile registers: the place of the second 16 in the result's memory, and
/// the rows that are wanted of each.
struct TwoTiles {
  TileRows rows;
  int lower;            ///< of sums: rows after the first
  int first[2], count;  ///< of sums: where two ranges of wanted rows begin; how many rows are wanted in all
};

/// Of up to 28 rows from `left` on, with `before` rows in front of them. No rows are wanted (count 0) where
/// vectors have to do it.
template <class Left>
LACT_INLINE TwoTiles two_tiles(const uint32_t* left, int64_t stride, int64_t rows, int64_t before) {
  const int count = rows < kSlabRows ? int(rows) : kSlabRows;
  if (!Left::kInRows) {
    // Slivers of 14 rows, of which the registers hold two more.
    const uint32_t* second = count > kRows ? left + stride : left;
    return {{left, second, 4 * kTileSide, kRows * kTileSide}, kTileSide, {0, kTileSide}, count};
  }
  const auto in_rows = [&](const uint32_t* upper, const uint32_t* lower) {
    return TileRows{upper, lower, 4 * stride, kTileSide};
  };
  if (count >= kTileSide) {
    const int lower = count - kTileSide;
    return {in_rows(left, left + lower * stride), lower, {0, kRows}, count};
  }
  // The rows in front are multiplied again.
  const int more = kTileSide - count;
  if (before < more) return {in_rows(left, left), 0, {0, 0}, 0};
  const uint32_t* from = left - more * stride;
  return {in_rows(from, from), 0, {more, more + kRows}, count};
}

/// As `tile`, in tile registers; what is left of the depth is for vectors.
template <class Left>
void tiles(const TwoTiles& two, const uint32_t* b, int64_t depth, int64_t columns, const GemmResult& result,
           int64_t row, int64_t column) {
  alignas(64) float sums[2 * kTileSide * kPanel];
  const int64_t blocks = depth / kTileSide, rest = depth - blocks * kTileSide;
  tiles_product<false>(two.rows, b, blocks, sums, sums + two.lower * kPanel, kPanel);
  for (int part = 0; part * kRows < two.count; ++part) {
    float* own = sums + two.first[part] * kPanel;
    const int count = two.count - part * kRows < kRows ? two.count - part * kRows : kRows;
    if (rest > 0) {
      const uint32_t* panel = b + blocks * kTileSide * kPanel;
      const uint32_t* from = (part == 0 ? two.rows.upper : two.rows.lower) + blocks * two.rows.step;
      if (Left::kInRows) from = two.rows.upper + part * kRows * two.rows.row_bytes / 4 + blocks * kTileSide;
      Vec more[kRows][kWidth] = {};
      add_all_products<Pairs>(RowForm<kRows>(from, two.rows.row_bytes / 4), panel, rest, more);
      write_sums<true>(more, own, kPanel);
    }
    finish(own, count, columns, result, row + kRows * part, column);
  }
}
#endif

template <class Operand, class Left>
void multiply_rows(const uint32_t* left, int64_t stride, int64_t rows, const uint32_t* b, int64_t depth,
                   int64_t columns, const GemmResult& result, int64_t row, int64_t column, Ahead& ahead) {
#if defined(__AMX_BF16__)
  if constexpr (Operand::kPerWord == 2) {
    // Vectors, too, take 14 rows at once of what is left of the depth: rows have to be there for that.
    while (rows >= kSlabRows || (rows > 0 && (!Left::kInRows || depth % kTileSide == 0))) {
      const TwoTiles two = two_tiles<Left>(left, stride, rows, row);
      if (two.count == 0) break;
      tiles<Left>(two, b, depth, columns, result, row, column);
      rows -= two.count, row += two.count;
      left += Left::kInRows ? two.count * stride : 2 * stride;
    }
  }
#endif
  const auto part = [&]<int Rows>() {
    for (; rows >= Rows; rows -= Rows, row += Rows) {
      tile<Operand, Left, Rows>(left, stride, b, depth, columns, result, row, column, ahead);
      // A whole sliver ends here; a part of the last one goes on beside it.
      left += Left::kInRows ? Rows * stride : Rows == kRows ? stride : Rows * Left::kRowWords;
    }
  };
  part.template operator()<kRows>();
  if constexpr (kRows > 8) part.template operator()<8>();
  part.template operator()<4>();
  part.template operator()<2>();
  part.template operator()<1>();
}

template <class Operand, class Left>
void multiply_as(GemmLeft left, GemmRight right, int64_t rows, int64_t columns, int64_t depth,
                 const GemmResult& result, const GemmAhead& plan) {
  Ahead ahead(plan, right.panels);
  for (int64_t column = 0; column < columns; column += kWidth * kLanes) {
    const uint32_t* b = right.panels + column / kPanel * right.stride + column % kPanel;
    multiply_rows<Operand, Left>(left.words, left.stride, rows, b, depth, columns - column, result, 0, column,
                                 ahead);
  }
}

void multiply(GemmLeft left, GemmRight right, int64_t rows, int64_t columns, int64_t depth, bool pairs,
              GemmResult result, GemmAhead ahead) {
  const auto multiply_by = [&]<class Operand>() {
    if (left.slivers)
      multiply_as<Operand, std::conditional_t<kInTiles<Operand>, InBlocks, InSlivers>>(
          left, right, rows, columns, depth, result, ahead);
    else
      multiply_as<Operand, InRows>(left, right, rows, columns, depth, result, ahead);
  };
  if (pairs) {
    const TilesInUse tiles;
    multiply_by.template operator()<Pairs>();
  } else
    multiply_by.template operator()<Singles>();
}

/// Turns a sliver [words][14] into blocks [words / 16][14][16].
template <class Operand>
void turn_sliver(uint32_t* sliver, int64_t words) {
  constexpr int kBlock = 16;
  alignas(64) uint32_t block[kBlock * kBlock] = {}, transposed[kBlock * kBlock];
  for (int64_t word = 0; word < words; word += kBlock, sliver += kRows * kBlock) {
    const int64_t count = words - word < kBlock ? words - word : kBlock;
    for (int64_t k = 0; k < count; ++k) {
      for (int r = 0; r < kRows; ++r) block[k * kBlock + r] = sliver[k * kRows + r];
    }
    transpose_16(block, kBlock, transposed, kBlock);
    for (int r = 0; r < kRows; ++r) {
      for (int k = 0; k < kBlock; k += kLanes) {
        store_bits(sliver + r * kBlock + k, load_bits(transposed + r * kBlock + k));
      }
    }
  }
}

/// Slivers of Aᵀ, given A [depth, rows].
template <class Operand, class Number>
void pack_slivers(const Number* from, int64_t from_stride, int64_t rows, int64_t depth, uint32_t* to,
                  int64_t stride) {
  constexpr int kStep = Operand::kPerWord, kAhead = 8;
  for (int64_t k = 0; k < depth; k += kStep, from += kStep * from_stride) {
    const bool second = kStep == 2 && k + 1 < depth;
    // Every row of the memory lies in other pages: no hardware looks ahead.
    for (int64_t row = 0; row < rows; row += 64 / int64_t(sizeof(Number))) {
      for (int i = 0; i < kStep; ++i) __builtin_prefetch(from + (kAhead + i) * from_stride + row);
    }
    for (int64_t first = 0; first < rows; first += kRows) {
      uint32_t* words = to + first / kRows * stride + k / kStep * kRows;
      // A vector may reach into the next word of the depth, which is written later.
      for (int64_t row = first; row < first + kRows; row += kLanes) {
        const int64_t left = rows - row;
        Vec even = {}, odd = {};
        if (left >= kLanes) {
          even = load(from + row);
          if (second) odd = load(from + from_stride + row);
        } else {
          even = load_some(from + row, left);
          if (second) odd = load_some(from + from_stride + row, left);
        }
        store_bits(words + row - first, word_of<Operand>(even, odd));
      }
    }
  }
  if constexpr (kInTiles<Operand>) {
    for (int64_t first = 0; first < rows; first += kRows)
      turn_sliver<Operand>(to + first / kRows * stride, words_of<Operand>(depth));
  }
}

template <class Operand, class Number>
void pack_left_as(GemmSource from, int64_t rows, int64_t depth, uint32_t* to, int64_t stride) {
  const auto* numbers = static_cast<const Number*>(from.data);
  if (from.column_stride != 1)
    return pack_slivers<Operand>(numbers, from.column_stride, rows, depth, to, stride);
  for (int64_t r = 0; r < rows; ++r)
    pack_row<Operand>(numbers + r * from.row_stride, depth, words_of<Operand>(depth), to + r * stride, 1.f);
}

template <class Operand, class Number>
void pack_right_as(GemmSource from, int64_t depth, int64_t columns, uint32_t* to, int64_t stride) {
  const auto* numbers = static_cast<const Number*>(from.data);
  if (from.column_stride == 1)
    pack_panels<Operand>(numbers, from.row_stride, depth, columns, to, stride);
  else
    pack_panels_transposed<Operand>(numbers, from.column_stride, depth, columns, to, stride);
}

void pack_left(GemmSource from, int64_t rows, int64_t depth, bool pairs, uint32_t* to, int64_t stride) {
  if (pairs && from.bf16) return pack_left_as<Pairs, uint16_t>(from, rows, depth, to, stride);
  if (pairs) return pack_left_as<Pairs, float>(from, rows, depth, to, stride);
  if (from.bf16) return pack_left_as<Singles, uint16_t>(from, rows, depth, to, stride);
  pack_left_as<Singles, float>(from, rows, depth, to, stride);
}

void pack_right(GemmSource from, int64_t depth, int64_t columns, bool pairs, uint32_t* to, int64_t stride) {
  if (pairs && from.bf16) return pack_right_as<Pairs, uint16_t>(from, depth, columns, to, stride);
  if (pairs) return pack_right_as<Pairs, float>(from, depth, columns, to, stride);
  if (from.bf16) return pack_right_as<Singles, uint16_t>(from, depth, columns, to, stride);
  pack_right_as<Singles, float>(from, depth, columns, to, stride);
}

}  // namespace

const GemmKernels gemm = {kRows, kHasTiles ? kSlabRows : kRows, pack_left, pack_right, multiply};

}  // namespace lact::kernels::LACT_ISA
