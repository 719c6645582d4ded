// The products of the fast-weight passes that belong to no hidden channel: see fast_weight.h.
#include "lact/kernels/fast_weight.h"
#include "lact/kernels/pack.h"
#include "lact/kernels/wide_tile.h"

namespace lact::kernels::LACT_ISA {

namespace {

template <class Operand, class Number>
void pack_both(const Number* from, int64_t stride, int64_t tokens, int64_t width, uint32_t* tiles,
               uint32_t* panels, int64_t panel_stride, const float* scale) {
  if (tiles != nullptr) pack_tiles<Operand>(from, stride, tokens, width, tiles);
  if (panels == nullptr) return;
  if (scale == nullptr) return pack_panels<Operand>(from, stride, tokens, width, panels, panel_stride);
  for (int64_t t = 0; t < tokens; t += Operand::kPerWord) {
    const bool second = Operand::kPerWord == 2 && t + 1 < tokens;
    for (int64_t column = 0; column < round_up(width, kPanel); column += kLanes) {
      const int64_t left = width - column;
      const Vec even = load_some(from + t * stride + column, left) * scale[t];
      const Vec odd = second ? load_some(from + (t + 1) * stride + column, left) * scale[t + 1] : Vec{};
      store_bits(panels + column / kPanel * panel_stride + t / Operand::kPerWord * kPanel + column % kPanel,
                 word_of<Operand>(even, odd));
    }
  }
}

template <class Number>
LACT_INLINE void store_tile(const float* tile, Number* to, int64_t stride, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t column = 0; column < columns; column += kLanes) {
      const Vec value = load(tile + r * kPanel + column);
      if (column + kLanes <= columns) {
        store(to + r * stride + column, value);
      } else {
        store_some(to + r * stride + column, value, columns - column);
      }
    }
  }
}

/// tile = tokens · panel, or added to it.
template <class Operand>
LACT_INLINE void add_term(const ProductTerm& term, int64_t token, const uint32_t* panel, bool add,
                          float* tile) {
  if (term.row_words == 0) {
    const uint32_t* tokens = term.tokens + token * term.words;
    if (add) return sliver_product<Operand, true>(tokens, panel, term.words, tile, kPanel);
    return sliver_product<Operand, false>(tokens, panel, term.words, tile, kPanel);
  }
  const uint32_t* tokens = term.tokens + token * term.row_words;
  if (add) return tall_product<Operand, true>(tokens, term.row_words, panel, term.words, tile, kPanel);
  tall_product<Operand, false>(tokens, term.row_words, panel, term.words, tile, kPanel);
}

template <class Operand, class Number>
void product(const ProductTerm* terms, int64_t count, int64_t tokens, int64_t columns, Number* out,
             int64_t stride) {
  alignas(64) float tile[kTallRows * kPanel];
  for (int64_t p = 0; p < panels_of(columns); ++p) {
    for (int64_t t = 0; t < tokens; t += kTallRows) {
      for (int64_t i = 0; i < count; ++i) {
        add_term<Operand>(terms[i], t, terms[i].panels + p * kPanel * terms[i].words, i > 0, tile);
      }
      const int64_t rows = tokens - t < kTallRows ? tokens - t : kTallRows;
      const int64_t left = columns - p * kPanel;
      store_tile(tile, out + t * stride + p * kPanel, stride, rows, left < kPanel ? left : kPanel);
    }
  }
}

template <class Operand>
void add_outer_products(const uint32_t* a_panel, const uint32_t* b_panels, int64_t panel_stride,
                        int64_t words, int64_t columns, float* sum, int64_t sum_stride) {
  constexpr int64_t kStretch = 112;
  for (int64_t first = 0; first < words; first += kStretch) {
    const int64_t depth = words - first < kStretch ? words - first : kStretch;
    for (int64_t p = 0; p < panels_of(columns); p += 2) {
      const int64_t panels = panels_of(columns) - p < 2 ? 1 : 2;
      for (int r = 0; r < kPanel; r += kTileRows) {
        row_product<Operand, true>({a_panel + first * kPanel + r, 1, kPanel},
                                   b_panels + p * panel_stride + first * kPanel, panel_stride, panels, depth,
                                   sum + r * sum_stride + p * kPanel, sum_stride);
      }
    }
  }
}

}  // namespace

void pack_tokens(Packing packing, NumberRows from, int64_t tokens, int64_t width, uint32_t* tiles,
                 uint32_t* panels, int64_t panel_stride, const float* scale) {
  const auto pack = [&](auto operand, auto* numbers) {
    pack_both<decltype(operand)>(numbers, from.stride, tokens, width, tiles, panels, panel_stride, scale);
  };
  if (!from.bf16) return pack(Singles{}, static_cast<const float*>(from.numbers));
  const auto* numbers = static_cast<const uint16_t*>(from.numbers);
  if (packing == Packing::pairs) return pack(Pairs{}, numbers);
  pack(Singles{}, numbers);
}

void token_product(Packing packing, const ProductTerm* terms, int64_t count, int64_t tokens, int64_t columns,
                   RowsOut out) {
  const auto run = [&](auto operand) {
    if (out.bf16) {
      return product<decltype(operand)>(terms, count, tokens, columns, static_cast<uint16_t*>(out.numbers),
                                        out.stride);
    }
    product<decltype(operand)>(terms, count, tokens, columns, static_cast<float*>(out.numbers), out.stride);
  };
  if (packing == Packing::pairs) return run(Pairs{});
  run(Singles{});
}

void outer_sum(Packing packing, const uint32_t* a_panel, const uint32_t* b_panels, int64_t panel_stride,
               int64_t words, int64_t columns, float* sum, int64_t sum_stride) {
  if (packing == Packing::pairs) {
    return add_outer_products<Pairs>(a_panel, b_panels, panel_stride, words, columns, sum, sum_stride);
  }
  add_outer_products<Singles>(a_panel, b_panels, panel_stride, words, columns, sum, sum_stride);
}

}  // namespace lact::kernels::LACT_ISA
