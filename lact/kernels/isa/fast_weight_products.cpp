// The products of the fast-weight passes that belong to no hidden channel: see fast_weight.h.
#include "lact/kernels/fast_weight.h"
#include "lact/kernels/pack.h"
#include "lact/kernels/wide_tile.h"

namespace lact::kernels::LACT_ISA {

namespace {

template <class Operand, class Number>
void slabs_of(const Number* from, int64_t stride, int64_t tokens, int64_t width, uint32_t* slabs,
              int64_t slab_stride) {
  for (int64_t column = 0; column < width; column += kPanel, slabs += slab_stride) {
    const int64_t filled = width - column;
    for (int64_t t = 0; t < tokens; ++t) {
      pack_slab_row<Operand>(from + t * stride + column, filled, slabs + t * kSlabWords<Operand>);
    }
    for (int64_t t = tokens; t < round_up(tokens, kTileUnit); ++t) {
      pack_slab_row<Operand>(from, 0, slabs + t * kSlabWords<Operand>);
    }
  }
}

template <class Operand, class Number>
void panels_of_tokens(const Number* from, int64_t stride, int64_t tokens, int64_t width, uint32_t* panels,
                      int64_t panel_stride, const float* scale) {
  for (int64_t t = 0; t < tokens; t += Operand::kPerWord) {
    const bool second = Operand::kPerWord == 2 && t + 1 < tokens;
    const float even_scale = scale == nullptr ? 1 : scale[t],
                odd_scale = second && scale != nullptr ? scale[t + 1] : 1;
    for (int64_t column = 0; column < round_up(width, kPanel); column += kLanes) {
      const int64_t left = width - column;
      const Vec even = load_some(from + t * stride + column, left) * even_scale;
      const Vec odd = second ? load_some(from + (t + 1) * stride + column, left) * odd_scale : Vec{};
      store_bits(panels + column / kPanel * panel_stride + t / Operand::kPerWord * kPanel + column % kPanel,
                 word_of<Operand>(even, odd));
    }
  }
}

/// Calls pack(Operand{}, numbers) with the types that packing and source stand for.
template <class Pack>
LACT_INLINE void typed_pack(Packing packing, NumberRows from, const Pack& pack) {
  if (!from.bf16) return pack(Singles{}, static_cast<const float*>(from.numbers));
  const auto* numbers = static_cast<const uint16_t*>(from.numbers);
  if (packing == Packing::pairs) return pack(Pairs{}, numbers);
  pack(Singles{}, numbers);
}

/// Words of depth that are multiplied with all columns before the next: the slabs of these stay in the second
/// cache.
constexpr int64_t kDepth = 512;

/// sums [columns / 32][tokens][32] = slabs · panels, or added to them.
template <class Operand>
LACT_INLINE void add_term(const ProductTerm& term, int64_t tokens, int64_t columns, bool add, float* sums) {
  const int64_t rows = round_up(tokens, kSlabRows);
  for (int64_t first = 0; first < term.words; first += kDepth) {
    const int64_t depth = term.words - first < kDepth ? term.words - first : kDepth;
    const uint32_t* slabs = term.slabs + first / kSlabWords<Operand> * term.slab_stride;
    for (int64_t p = 0; p < panels_of(columns); ++p) {
      const uint32_t* panel = term.panels + (p * term.words + first) * kPanel;
      for (int64_t t = 0; t < tokens; t += kSlabRows) {
        const uint32_t* a = slabs + t * kSlabWords<Operand>;
        float* c = sums + (p * rows + t) * kPanel;
        if (add || first > 0) {
          slab_product<Operand, true>(a, term.slab_stride, panel, depth, c, kPanel);
        } else {
          slab_product<Operand, false>(a, term.slab_stride, panel, depth, c, kPanel);
        }
      }
    }
  }
}

template <class Operand, class Number>
void product(const ProductTerm* terms, int64_t count, int64_t tokens, int64_t columns, Number* out,
             int64_t stride, float* sums) {
  for (int64_t i = 0; i < count; ++i) add_term<Operand>(terms[i], tokens, columns, i > 0, sums);
  const int64_t rows = round_up(tokens, kSlabRows);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t column = 0; column < columns; column += kLanes) {
      const Vec value = load(sums + (column / kPanel * rows + t) * kPanel + column % kPanel);
      if (column + kLanes <= columns) {
        store(out + t * stride + column, value);
      } else {
        store_some(out + t * stride + column, value, columns - column);
      }
    }
  }
}

template <class Operand>
void add_outer_products(const uint32_t* a_panel, const uint32_t* b_panels, int64_t panel_stride,
                        int64_t words, int64_t columns, float* sum, int64_t sum_stride) {
  for (int64_t first = 0; first < words; first += kStretchWords) {
    const int64_t depth = words - first < kStretchWords ? words - first : kStretchWords;
    const LeftPanel<Operand> a(a_panel + first * kPanel, depth);
    for (int64_t p = 0; p < panels_of(columns); p += 2) {
      a.add_outer(b_panels + p * panel_stride + first * kPanel, panel_stride,
                  panels_of(columns) - p < 2 ? 1 : 2, sum + p * kPanel, sum_stride);
    }
  }
}

}  // namespace

void pack_slabs(Packing packing, NumberRows from, int64_t tokens, int64_t width, uint32_t* slabs,
                int64_t slab_stride) {
  typed_pack(packing, from, [&](auto operand, auto* numbers) {
    slabs_of<decltype(operand)>(numbers, from.stride, tokens, width, slabs, slab_stride);
  });
}

void pack_panels(Packing packing, NumberRows from, int64_t tokens, int64_t width, uint32_t* panels,
                 int64_t panel_stride, const float* scale) {
  typed_pack(packing, from, [&](auto operand, auto* numbers) {
    panels_of_tokens<decltype(operand)>(numbers, from.stride, tokens, width, panels, panel_stride, scale);
  });
}

void token_product(Packing packing, const ProductTerm* terms, int64_t count, int64_t tokens, int64_t columns,
                   RowsOut out, float* scratch) {
  const TilesInUse tiles;
  const auto run = [&](auto operand) {
    if (out.bf16) {
      return product<decltype(operand)>(terms, count, tokens, columns, static_cast<uint16_t*>(out.numbers),
                                        out.stride, scratch);
    }
    product<decltype(operand)>(terms, count, tokens, columns, static_cast<float*>(out.numbers), out.stride,
                               scratch);
  };
  if (packing == Packing::pairs) return run(Pairs{});
  run(Singles{});
}

void outer_sum(Packing packing, const uint32_t* a_panel, const uint32_t* b_panels, int64_t panel_stride,
               int64_t words, int64_t columns, float* sum, int64_t sum_stride) {
  if (packing == Packing::pairs) {
    const TilesInUse tiles;
    return add_outer_products<Pairs>(a_panel, b_panels, panel_stride, words, columns, sum, sum_stride);
  }
  add_outer_products<Singles>(a_panel, b_panels, panel_stride, words, columns, sum, sum_stride);
}

}  // namespace lact::kernels::LACT_ISA
