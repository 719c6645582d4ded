#include "lact/kernels/products.h"

#include <utility>

#include "lact/kernels/pack.h"

namespace lact::kernels::LACT_ISA {

namespace {

/// Calls what(Operand{}, numbers) with the types that packing and source stand for.
template <class What>
LACT_INLINE void typed(Packing packing, NumberRows from, const What& what) {
  if (packing == Packing::pairs) {
    if (from.bf16) return what(Pairs{}, static_cast<const uint16_t*>(from.numbers));
    return what(Pairs{}, static_cast<const float*>(from.numbers));
  }
  if (from.bf16) return what(Singles{}, static_cast<const uint16_t*>(from.numbers));
  return what(Singles{}, static_cast<const float*>(from.numbers));
}

/// The tile form for tile registers: [rows / kSlabRows][words / 16][kSlabRows][16 words].
template <class Operand, class Number>
void pack_blocks(const Number* from, int64_t stride, int64_t rows, int64_t depth, uint32_t* to) {
  for (int64_t row = 0; row < rows; row += kSlabRows) {
    for (int64_t column = 0; column < depth; column += kPanel) {
      for (int64_t r = row; r < row + kSlabRows; ++r, to += kSlabWords<Operand>) {
        pack_slab_row<Operand>(from + r * stride + column, r < rows ? depth - column : 0, to);
      }
    }
  }
}

void tiles(Packing packing, NumberRows from, int64_t rows, int64_t depth, uint32_t* to) {
  typed(packing, from, [&](auto operand, auto* numbers) {
    if constexpr (kInTiles<decltype(operand)>) {
      pack_blocks<decltype(operand)>(numbers, from.stride, rows, depth, to);
    } else {
      pack_tiles<decltype(operand)>(numbers, from.stride, rows, depth, to);
    }
  });
}

/// Tile form of Aᵀ, given A [depth, rows]: what is summed over tokens.
template <class Operand, class Number>
void pack_tiles_transposed(const Number* from, int64_t stride, int64_t rows, int64_t depth, uint32_t* to) {
  constexpr int kStep = Operand::kPerWord;
  const int64_t words = words_of<Operand>(depth);
  for (int64_t row = 0; row < rows; row += kTallRows, to += kTallRows * words) {
    for (int64_t word = 0; word < words; ++word) {
      const Number* even = from + word * kStep * stride + row;
      const bool second = kStep == 2 && word * kStep + 1 < depth;
      for (int v = 0; v < kTallRows; v += kLanes) {
        const int64_t left = rows - row - v;
        const auto read = [&](const Number* x) {
          return left >= kLanes ? load(x + v) : load_some(x + v, left);
        };
        const Bits both = word_of<Operand>(read(even), second ? read(even + stride) : Vec{});
        uint32_t* tile = to + word * kTallRows + v;
        if (v + kLanes <= kTallRows || word + 1 < words) {
          store_bits(tile, both);  // the next one overwrites what is too much
        } else {
          for (int i = 0; i < kTallRows - v; ++i) tile[i] = both[i];
        }
      }
    }
  }
}

#if defined(__AMX_BF16__)
/// The same of Aᵀ, given A [depth, rows].
template <class Number>
void pack_blocks_transposed(const Number* from, int64_t stride, int64_t rows, int64_t depth, uint32_t* to) {
  constexpr int kSide = kTileSide;
  alignas(64) uint32_t block[kSide * kSide], transposed[kSide * kSide];
  for (int64_t row = 0; row < rows; row += kSlabRows) {
    for (int64_t first = 0; first < depth; first += kPanel, to += kSlabRows * kSide) {
      for (int r = 0; r < kSlabRows; r += kSide) {
        for (int64_t word = 0; word < kSide; ++word) {
          const int64_t k = first + 2 * word, left = rows - row - r;
          const Number* even = from + k * stride + row + r;
          const Vec upper = k < depth ? load_some(even, left) : Vec{};
          const Vec lower = k + 1 < depth ? load_some(even + stride, left) : Vec{};
          store_bits(block + word * kSide, interleave(upper, lower));
        }
        transpose_16(block, kSide, transposed, kSide);
        const int count = kSlabRows - r < kSide ? kSlabRows - r : kSide;
        for (int i = 0; i < count; ++i) {
          store_bits(to + (r + i) * kSide, load_bits(transposed + i * kSide));
        }
      }
    }
  }
}
#endif

void tiles_transposed(Packing packing, NumberRows from, int64_t rows, int64_t depth, uint32_t* to) {
  typed(packing, from, [&](auto operand, auto* numbers) {
#if defined(__AMX_BF16__)
    if constexpr (kInTiles<decltype(operand)>) {
      return pack_blocks_transposed(numbers, from.stride, rows, depth, to);
    }
#endif
    pack_tiles_transposed<decltype(operand)>(numbers, from.stride, rows, depth, to);
  });
}

void panels(Packing packing, NumberRows from, int64_t depth, int64_t columns, uint32_t* to,
            int64_t panel_stride) {
  typed(packing, from, [&](auto operand, auto* numbers) {
    pack_panels<decltype(operand)>(numbers, from.stride, depth, columns, to, panel_stride);
  });
}

void panels_transposed(Packing packing, NumberRows from, int64_t depth, int64_t columns, uint32_t* to,
                       int64_t panel_stride) {
  typed(packing, from, [&](auto operand, auto* numbers) {
    pack_panels_transposed<decltype(operand)>(numbers, from.stride, depth, columns, to, panel_stride);
  });
}

LACT_INLINE float kept(const Combine& out, int64_t row) {
  return out.keep_rows == nullptr ? out.keep : out.keep * out.keep_rows[row];
}

/// C = scale · sums + keep · base, from `row` and `column` on.
template <bool Keep, int Rows>
LACT_INLINE void combine(const Vec (&sums)[Rows][kWidth], const Combine& out, int64_t row, int column) {
  float* c = out.c + row * out.c_stride + column;
  const float* base = out.base + row * out.base_stride + column;
#pragma GCC unroll 16  // or the sums would pass through memory
  for (int r = 0; r < Rows; ++r) {
    const float keep = Keep ? kept(out, row + r) : 0;
    for (int w = 0; w < kWidth; ++w) {
      Vec value = sums[r][w] * out.scale;
      if (Keep) value += load(base + w * kLanes) * keep;
      store(c + w * kLanes, value);
    }
    c += out.c_stride;
    base += out.base_stride;
  }
}

/// The first `Rows` of a tile times a panel.
template <class Operand, int Rows>
__attribute__((noinline)) void sliver(const uint32_t* a, const uint32_t* panel, int64_t words,
                                      const Combine& out, int64_t row) {
  // Rows of C lie too far apart for the processor to foresee them.
  const float* c = out.c + row * out.c_stride;
  for (int r = 0; r < Rows; ++r, c += out.c_stride) {
    __builtin_prefetch(c, 1);
    __builtin_prefetch(c + kPanel / 2, 1);
  }
  for (int column = 0; column < kPanel; column += kWidth * kLanes) {
    Vec sums[Rows][kWidth];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      for (int w = 0; w < kWidth; ++w) sums[r][w] = Vec{};
    }
    add_all_products<Operand>(SliverForm<kTallRows>(a), panel + column, words, sums);
    if (out.keep == 0) {
      combine<false>(sums, out, row, column);
    } else {
      combine<true>(sums, out, row, column);
    }
  }
}

/// slivers<Operand>[rows - 1], so that a last tile costs no more than the rows it has.
template <class Operand, class Rows>
struct SliversOf;
template <class Operand, int... Rows>
struct SliversOf<Operand, std::integer_sequence<int, Rows...>> {
  static constexpr decltype(&sliver<Operand, 1>) kByRows[] = {sliver<Operand, Rows + 1>...};
};
/// Sums of more rows would not fit into registers.
constexpr int kSliverRows = kLanes == 16 ? kTallRows : kRowsAtOnce;
template <class Operand>
using Slivers = SliversOf<Operand, std::make_integer_sequence<int, kSliverRows>>;

/// Up to kSlabRows rows in the form for tile registers.
template <class Operand>
LACT_INLINE void slab(const uint32_t* a, const uint32_t* panel, int64_t words, int64_t rows,
                      const Combine& out, int64_t row) {
  constexpr int64_t kStride = kSlabRows * kSlabWords<Operand>;
  if (out.scale == 1 && out.keep == 0 && rows == kSlabRows) {
    return slab_product<Operand, false>(a, kStride, panel, words, out.c + row * out.c_stride, out.c_stride);
  }
  alignas(64) float sums[kSlabRows * kPanel];
  slab_product<Operand, false>(a, kStride, panel, words, sums, kPanel);
  for (int64_t i = 0; i < rows; ++i) {
    const float keep = kept(out, row + i);
    for (int v = 0; v < kPanel; v += kLanes) {
      Vec value = load(sums + i * kPanel + v) * out.scale;
      if (keep != 0) value += load(out.base + (row + i) * out.base_stride + v) * keep;
      store(out.c + (row + i) * out.c_stride + v, value);
    }
  }
}

template <class Operand>
void product(const uint32_t* a, const uint32_t* panel, int64_t words, int64_t rows, const Combine& out) {
  constexpr int kHeight = kInTiles<Operand> ? kSlabRows : kTallRows;
  constexpr int64_t kUnit = kInTiles<Operand> ? kSlabWords<Operand> : 1;  // where a depth may begin and end
  const int64_t row_words = kInTiles<Operand> ? round_up(words, kSlabWords<Operand>) : words;
  for (int64_t r = out.first_row / kHeight * kHeight; r < rows; r += kHeight) {
    const int64_t begin = out.left == Triangle::upper ? r / Operand::kPerWord / kUnit * kUnit : 0;
    int64_t end = words;
    if (out.left == Triangle::lower) end = round_up(words_of<Operand>(r + kHeight), kUnit);
    if (end > words) end = words;
    const uint32_t* tile = a + r * row_words + begin * kHeight;
    const uint32_t* from = panel + begin * kPanel;
    const int64_t height = rows - r < kHeight ? rows - r : kHeight;
    if constexpr (kInTiles<Operand>) {
      slab<Operand>(tile, from, end - begin, height, out, r);
    } else {
      for (int64_t i = 0; i < height; i += kSliverRows) {
        const int64_t count = height - i < kSliverRows ? height - i : kSliverRows;
        Slivers<Operand>::kByRows[count - 1](tile + i, from, end - begin, out, r + i);
      }
    }
  }
}

void panel_product(Packing packing, const uint32_t* a, const uint32_t* panel, int64_t words, int64_t rows,
                   const Combine& out) {
  if (packing == Packing::pairs) {
    const TilesInUse tiles;
    return product<Pairs>(a, panel, words, rows, out);
  }
  product<Singles>(a, panel, words, rows, out);
}

LACT_INLINE uint32_t* as_words(float* numbers) { return reinterpret_cast<uint32_t*>(numbers); }
LACT_INLINE const uint32_t* as_words(const float* numbers) {
  return reinterpret_cast<const uint32_t*>(numbers);
}

constexpr int kBlock = 16;

void add_transposed(const float* h, int64_t side, int64_t panel, float scale, const float* base, float keep,
                    float* out) {
  alignas(64) float transposed[kBlock * kBlock];
  for (int64_t i = panel * kPanel; i < (panel + 1) * kPanel; i += kBlock) {
    for (int64_t j = 0; j < side; j += kBlock) {
      transpose_16(as_words(h + j * side + i), side, as_words(transposed), kBlock);
      for (int64_t r = 0; r < kBlock; ++r) {
        const int64_t row = (i + r) * side + j;
        for (int v = 0; v < kBlock; v += kLanes) {
          Vec value = (load(h + row + v) + load(transposed + r * kBlock + v)) * scale;
          if (keep != 0) value += load(base + row + v) * keep;
          store(out + row + v, value);
        }
      }
    }
  }
}

void mirror(float* h, int64_t side, int64_t panel) {
  for (int64_t i = panel * kPanel; i < (panel + 1) * kPanel; i += kBlock) {
    for (int64_t j = 0; j < panel * kPanel; j += kBlock) {
      transpose_16(as_words(h + j * side + i), side, as_words(h + i * side + j), side);
    }
  }
}

}  // namespace

extern const ProductKernels products;
const ProductKernels products = {tiles,         tiles_transposed, panels, panels_transposed,
                                 panel_product, add_transposed,   mirror};

}  // namespace lact::kernels::LACT_ISA
