#include "lact/kernels/fast_weight.h"

#include "lact/kernels/pack.h"
#include "lact/kernels/wide_tile.h"

namespace lact::kernels::LACT_ISA {

namespace {

constexpr int kTile = kSlabRows * kPanel;
static_assert(kStretchWords % kSlabRows == 0 && kHiddenScratch == 3 * kStretchWords * kPanel);

struct Tiles {
  alignas(64) float gate[kTile], up[kTile], output_gradient[kTile];
  alignas(64) float gate_factor[kTile], up_factor[kTile], down_factor[kTile];
};

/// G, U, P and what follows from them, for the lanes of one token.
struct Hidden {
  Vec gate, up, output_gradient, sigma, silu, slope;
};
LACT_INLINE Hidden hidden_at(const Tiles& tiles, int at) {
  Hidden h;
  h.gate = load(tiles.gate + at), h.up = load(tiles.up + at),
  h.output_gradient = load(tiles.output_gradient + at);
  h.sigma = sigmoid(h.gate);
  h.silu = h.gate * h.sigma;
  h.slope = h.sigma + h.silu * (1.f - h.sigma);
  return h;
}

template <class Operand>
LACT_INLINE void product_tile(const TokenForms& tokens, int64_t first, const uint32_t* panel, float* to) {
  slab_product<Operand, false>(tokens.slabs + first * kSlabWords<Operand>, tokens.slab_stride, panel,
                               tokens.words, to, kPanel);
}

/// The numbers [tokens][32] of a block, a tile of tokens from `first` on; zeros after the last token.
template <class Number>
LACT_INLINE void read_kept(const void* kept, int64_t first, int64_t tokens, float* to) {
  const Number* from = static_cast<const Number*>(kept) + first * kPanel;
  const int64_t count = tokens - first < kSlabRows ? tokens - first : kSlabRows;
  for (int64_t i = 0; i < count * kPanel; i += kLanes) store(to + i, load(from + i));
  for (int64_t i = count * kPanel; i < kTile; i += kLanes) store(to + i, Vec{});
}
template <class Number>
LACT_INLINE void write_kept(void* kept, int64_t first, int64_t tokens, const float* from) {
  Number* to = static_cast<Number*>(kept) + first * kPanel;
  const int64_t count = tokens - first < kSlabRows ? tokens - first : kSlabRows;
  for (int64_t i = 0; i < count * kPanel; i += kLanes) store(to + i, load(from + i));
}

LACT_INLINE float rate_of(const float* rates, int64_t token, int64_t tokens) {
  if (token >= tokens) return 0;
  return rates == nullptr ? 1 : rates[token];
}

/// Columns of one token in a slab.
template <class Operand>
LACT_INLINE void store_row(uint32_t* slab, int64_t token, int column, Vec value) {
  store(reinterpret_cast<typename Operand::Number*>(slab) + token * kPanel + column, value);
}

/// Runs stage(row, column) for the tile: first rows that share a word, then columns; `put` gets the
/// results of both rows.
template <class Operand, class Stage, class Put>
LACT_INLINE void for_each_word(const Stage& stage, const Put& put) {
  for (int row = 0; row < kSlabRows; row += Operand::kPerWord) {
    for (int column = 0; column < kPanel; column += kLanes) {
      const auto even = stage(row, column);
      const auto odd = Operand::kPerWord == 2 ? stage(row + 1, column) : even;
      put(row, column, even, odd);
    }
  }
}

/// Calls body(first, 1 or 2) for panels two at a time.
template <class Body>
LACT_INLINE void for_each_two(int64_t panels, const Body& body) {
  for (int64_t p = 0; p < panels; p += 2) body(p, panels - p < 2 ? 1 : 2);
}

/// The stretch's part of the sums: gate += Aᵀ x, up += Bᵀ x, downᵀ += Cᵀ output_gradient for panels A, B, C
/// of hidden channels.
template <class Operand>
LACT_INLINE void add_sums(const HiddenPiece& piece, int64_t first, int64_t words) {
  const int64_t offset = first / Operand::kPerWord * kPanel;
  const auto add = [&](const LeftPanel<Operand>& factors, const TokenForms& tokens, int64_t p, int64_t panels,
                       float* sum, int64_t stride) {
    factors.add_outer(tokens.panels + p * tokens.panel_stride + offset, tokens.panel_stride, panels,
                      sum + p * kPanel, stride);
  };
  constexpr int64_t kPart = kStretchWords * kPanel;
  const LeftPanel<Operand> gate(piece.scratch, words), up(piece.scratch + kPart, words);
  for_each_two(panels_of(piece.in_width), [&](int64_t p, int64_t panels) {
    add(gate, piece.x, p, panels, piece.gate_sum, piece.sum_in);
    add(up, piece.x, p, panels, piece.up_sum, piece.sum_in);
  });
  const LeftPanel<Operand> down(piece.scratch + 2 * kPart, words);
  for_each_two(panels_of(piece.out_width), [&](int64_t p, int64_t panels) {
    add(down, piece.output_gradient, p, panels, piece.down_sum, piece.sum_out);
  });
}

/// Calls tile(first token, scratch offset in words) for all tiles, and add_sums after every stretch.
template <class Operand, class Tile>
LACT_INLINE void in_stretches(const HiddenPiece& piece, const Tile& tile) {
  constexpr int64_t kStretch = kStretchWords * Operand::kPerWord;
  for (int64_t begin = 0; begin < piece.tokens; begin += kStretch) {
    const int64_t count = piece.tokens - begin < kStretch ? piece.tokens - begin : kStretch;
    for (int64_t t = 0; t < count; t += kSlabRows) tile(begin + t, t / Operand::kPerWord * kPanel);
    add_sums<Operand>(piece, begin, words_of<Operand>(count));
  }
}

/// What a token adds to the sums of the three matrices: A, B and C of add_sums.
struct SumFactors {
  Vec gate, up, down;
};

/// The factors of the rows that share a word, at `column` of their panels.
template <class Operand>
LACT_INLINE void put_factors(const HiddenPiece& piece, int64_t tile, int row, int column,
                             const SumFactors& even, const SumFactors& odd) {
  constexpr int64_t kPart = kStretchWords * kPanel;
  uint32_t* to = piece.scratch + tile + row / Operand::kPerWord * kPanel + column;
  store_bits(to, word_of<Operand>(even.gate, odd.gate));
  store_bits(to + kPart, word_of<Operand>(even.up, odd.up));
  store_bits(to + 2 * kPart, word_of<Operand>(even.down, odd.down));
}

template <class Operand, class Number>
void apply(const HiddenPiece& piece) {
  Tiles tiles;
  for (int64_t t = 0; t < piece.tokens; t += kSlabRows) {
    product_tile<Operand>(piece.x, t, piece.gate, tiles.gate);
    product_tile<Operand>(piece.x, t, piece.up, tiles.up);
    if (piece.kept.gate != nullptr) {
      write_kept<Number>(piece.kept.gate, t, piece.tokens, tiles.gate);
      write_kept<Number>(piece.kept.up, t, piece.tokens, tiles.up);
    }
    for (int row = 0; row < kSlabRows; ++row) {
      for (int column = 0; column < kPanel; column += kLanes) {
        const Vec gate = load(tiles.gate + row * kPanel + column),
                  up = load(tiles.up + row * kPanel + column);
        store_row<Operand>(piece.hidden_slab, t + row, column, gate * sigmoid(gate) * up);
      }
    }
  }
}

template <class Operand, class Number>
void descend(const HiddenPiece& piece) {
  Tiles tiles;
  in_stretches<Operand>(piece, [&](int64_t t, int64_t scratch) {
    product_tile<Operand>(piece.x, t, piece.gate, tiles.gate);
    product_tile<Operand>(piece.x, t, piece.up, tiles.up);
    product_tile<Operand>(piece.output_gradient, t, piece.down, tiles.output_gradient);
    if (piece.kept.gate != nullptr) {
      write_kept<Number>(piece.kept.gate, t, piece.tokens, tiles.gate);
      write_kept<Number>(piece.kept.up, t, piece.tokens, tiles.up);
      write_kept<Number>(piece.kept.output_gradient, t, piece.tokens, tiles.output_gradient);
    }
    const auto stage = [&](int row, int column) {
      const Hidden h = hidden_at(tiles, row * kPanel + column);
      return SumFactors{h.output_gradient * h.up * h.slope * rate_of(piece.gate_rate, t + row, piece.tokens),
                        h.output_gradient * h.silu * rate_of(piece.up_rate, t + row, piece.tokens),
                        h.silu * h.up * rate_of(piece.down_rate, t + row, piece.tokens)};
    };
    for_each_word<Operand>(stage, [&](int row, int column, const SumFactors& even, const SumFactors& odd) {
      put_factors<Operand>(piece, scratch, row, column, even, odd);
    });
  });
}

/// G and U (and P) of a tile: as they were kept, or computed again.
template <class Operand, class Number>
LACT_INLINE void restore(const HiddenPiece& piece, int64_t t, Tiles& tiles, bool output_gradient) {
  if (piece.kept.gate != nullptr) {
    read_kept<Number>(piece.kept.gate, t, piece.tokens, tiles.gate);
    read_kept<Number>(piece.kept.up, t, piece.tokens, tiles.up);
    if (output_gradient)
      read_kept<Number>(piece.kept.output_gradient, t, piece.tokens, tiles.output_gradient);
  } else {
    product_tile<Operand>(piece.x, t, piece.gate, tiles.gate);
    product_tile<Operand>(piece.x, t, piece.up, tiles.up);
    if (output_gradient) product_tile<Operand>(piece.output_gradient, t, piece.down, tiles.output_gradient);
  }
}

template <class Operand, class Number>
void apply_backward(const HiddenPiece& piece) {
  Tiles tiles;
  in_stretches<Operand>(piece, [&](int64_t t, int64_t scratch) {
    restore<Operand, Number>(piece, t, tiles, false);
    product_tile<Operand>(piece.output_gradient, t, piece.down, tiles.output_gradient);
    const auto stage = [&](int row, int column) {
      const Hidden h = hidden_at(tiles, row * kPanel + column);
      const SumFactors out = {h.output_gradient * h.up * h.slope, h.output_gradient * h.silu, h.silu * h.up};
      store_row<Operand>(piece.gate_slab, t + row, column, out.gate);
      store_row<Operand>(piece.up_slab, t + row, column, out.up);
      return out;
    };
    for_each_word<Operand>(stage, [&](int row, int column, const SumFactors& even, const SumFactors& odd) {
      put_factors<Operand>(piece, scratch, row, column, even, odd);
    });
  });
}

// With R the products of keys and values with the gradients of the sums:  a = rate R_down, b = rate R_gate, c
// = rate R_up,
//   dP = c S + b U s',  dU = a S + b P s',  dG = (a U + c P) s' + b P U s'',
// where  s' = σ + S (1 - σ)  and  s'' = σ (1 - σ) (2 + G (1 - 2σ)).
template <class Operand, class Number>
void descend_backward(const HiddenPiece& piece) {
  Tiles tiles;
  in_stretches<Operand>(piece, [&](int64_t t, int64_t scratch) {
    restore<Operand, Number>(piece, t, tiles, true);
    product_tile<Operand>(piece.x, t, piece.gate_factor, tiles.gate_factor);
    product_tile<Operand>(piece.x, t, piece.up_factor, tiles.up_factor);
    product_tile<Operand>(piece.output_gradient, t, piece.down_factor, tiles.down_factor);
    Vec rate_sums[kSlabRows][3] = {};
    const auto stage = [&](int row, int column) {
      const int at = row * kPanel + column;
      const Hidden h = hidden_at(tiles, at);
      const Vec r_gate = load(tiles.gate_factor + at), r_up = load(tiles.up_factor + at),
                r_down = load(tiles.down_factor + at);
      const float gate_rate = rate_of(piece.gate_rate, t + row, piece.tokens),
                  up_rate = rate_of(piece.up_rate, t + row, piece.tokens),
                  down_rate = rate_of(piece.down_rate, t + row, piece.tokens);
      const Vec output_gradient_up = h.output_gradient * h.up;
      const Vec gate_output_gradient = output_gradient_up * h.slope,
                up_output_gradient = h.output_gradient * h.silu, hidden = h.silu * h.up;
      rate_sums[row][0] += gate_output_gradient * r_gate;
      rate_sums[row][1] += up_output_gradient * r_up;
      rate_sums[row][2] += hidden * r_down;
      const Vec a = r_down * down_rate, b = r_gate * gate_rate, c = r_up * up_rate;
      const Vec bend = h.sigma * (1.f - h.sigma) * (2.f + h.gate * (1.f - 2.f * h.sigma));
      const Vec b_slope = b * h.slope;
      const SumFactors out = {(a * h.up + c * h.output_gradient) * h.slope + b * output_gradient_up * bend,
                              a * h.silu + b_slope * h.output_gradient, c * h.silu + b_slope * h.up};
      const auto put = [&](uint32_t* slab, Vec value) { store_row<Operand>(slab, t + row, column, value); };
      put(piece.gate_factor_slab, gate_output_gradient * gate_rate);
      put(piece.up_factor_slab, up_output_gradient * up_rate);
      put(piece.hidden_slab, hidden * down_rate);
      put(piece.gate_slab, out.gate);
      put(piece.up_slab, out.up);
      put(piece.output_gradient_slab, out.down);
      return out;
    };
    for_each_word<Operand>(stage, [&](int row, int column, const SumFactors& even, const SumFactors& odd) {
      put_factors<Operand>(piece, scratch, row, column, even, odd);
    });
    for (int row = 0; row < kSlabRows && t + row < piece.tokens; ++row) {
      piece.gate_rate_sum[t + row] = sum(rate_sums[row][0]);
      piece.up_rate_sum[t + row] = sum(rate_sums[row][1]);
      piece.down_rate_sum[t + row] = sum(rate_sums[row][2]);
    }
  });
}

/// The version of a pass for the types of a piece.
template <class Pass>
LACT_INLINE void run(const HiddenPiece& piece, const Pass& pass) {
  if (piece.packing == Packing::pairs) {
    const TilesInUse tiles;
    return pass(Pairs{}, uint16_t{});
  }
  if (piece.bf16) return pass(Singles{}, uint16_t{});
  pass(Singles{}, float{});
}
void run_apply(const HiddenPiece& piece) {
  run(piece, [&](auto operand, auto number) { apply<decltype(operand), decltype(number)>(piece); });
}
void run_descend(const HiddenPiece& piece) {
  run(piece, [&](auto operand, auto number) { descend<decltype(operand), decltype(number)>(piece); });
}
void run_apply_backward(const HiddenPiece& piece) {
  run(piece, [&](auto operand, auto number) { apply_backward<decltype(operand), decltype(number)>(piece); });
}
void run_descend_backward(const HiddenPiece& piece) {
  run(piece,
      [&](auto operand, auto number) { descend_backward<decltype(operand), decltype(number)>(piece); });
}

}  // namespace

// In fast_weight_products.cpp.
void pack_slabs(Packing packing, NumberRows from, int64_t tokens, int64_t width, uint32_t* slabs,
                int64_t slab_stride);
void pack_panels(Packing packing, NumberRows from, int64_t tokens, int64_t width, uint32_t* panels,
                 int64_t panel_stride, const float* scale);
void token_product(Packing packing, const ProductTerm* terms, int64_t count, int64_t tokens, int64_t columns,
                   RowsOut out, float* scratch);
void outer_sum(Packing packing, const uint32_t* a_panel, const uint32_t* b_panels, int64_t panel_stride,
               int64_t words, int64_t columns, float* sum, int64_t sum_stride);

extern const FastWeightKernels fast_weight;
const FastWeightKernels fast_weight = {pack_slabs,         pack_panels,          run_apply,     run_descend,
                                       run_apply_backward, run_descend_backward, token_product, outer_sum};

}  // namespace lact::kernels::LACT_ISA
