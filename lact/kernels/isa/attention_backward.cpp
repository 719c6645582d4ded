// Backward pass of attention. With the weights P = 2^(scale · Q Kᵀ - log_sums), made again tile by tile:
//   dV += Pᵀ dO,  dP = dO Vᵀ,  dS = P * (dP - rowsum(dO * O)),  dQ += scale · dS K,  dK += scale · dSᵀ Q.
#include "lact/kernels/attention_tiles.h"

namespace lact::kernels::LACT_ISA {

extern const AttentionBackwardKernels attention_backward;

namespace {

constexpr int64_t kQueryTile = 64, kKeyTile = 128;
// Rows of scores; a power of two would put all of them into a few sets of the cache.
constexpr int64_t kStride = kKeyTile + 16;
constexpr int64_t kGroups = kQueryTile / kTileRows, kPanels = kKeyTile / kPanel;

/// The space of a worker. "rows" are left operands over the feature axis, "panels" right operands.
template <class Operand>
struct Tiles {
  Tiles(const AttentionHead& head, int64_t keys, uint32_t* space)
      : depth(words_of<Operand>(head.width)),
        value_depth(words_of<Operand>(head.value_width)),
        columns(round_up(head.width, kPanel)),
        value_columns(round_up(head.value_width, kPanel)),
        key_stride(words_of<Operand>(round_up(keys, kPanel)) * kPanel) {
    const int64_t rows = round_up(keys, kPanel);
    Carver carver(space);
    k_turned = carver.words(rows * depth);
    v_turned = carver.words(rows * value_depth);
    k_panels = carver.words(columns / kPanel * key_stride);
    k_sums = carver.floats(rows * columns);
    v_sums = carver.floats(rows * value_columns);
    q_rows = carver.words(kQueryTile * depth);
    q_panels = carver.words(columns * kQueryStride / kPanel);
    out_rows = carver.words(kQueryTile * value_depth);
    out_panels = carver.words(value_columns * kQueryStride / kPanel);
    weights = carver.floats(kQueryTile * kStride);
    slopes = carver.floats(kQueryTile * kStride);
    weight_pairs = slope_pairs = nullptr;
    if (Operand::kPerWord == 2) {
      weight_pairs = carver.words(kQueryTile / 2 * kStride);
      slope_pairs = carver.words(kQueryTile / 2 * kStride);
    }
    used = carver.used();
  }
  static constexpr int64_t kQueryStride = kQueryTile / Operand::kPerWord * kPanel;
  int64_t depth, value_depth, columns, value_columns, key_stride, used;
  uint32_t *k_turned, *v_turned, *k_panels;
  float *k_sums, *v_sums;
  uint32_t *q_rows, *q_panels, *out_rows, *out_panels;
  float *weights, *slopes;  // scores first, then P; dP first, then dS
  uint32_t *weight_pairs, *slope_pairs;
};

/// A tile: queries [query, query + rows) against keys [key, key + keys) of the block that begins at
/// first_key.
struct Place {
  int64_t query, rows, first_key, key, keys;
  int64_t groups() const { return (rows + kTileRows - 1) / kTileRows; }
};

/// Which groups of 8 queries see which panels of 32 keys, both ways.
struct Visibility {
  Span of_group[kGroups];
  Span of_panel[kPanels];
  bool nothing = true;
};

LACT_INLINE Visibility visibility_of(const VisibleRows& visible, const Place& place) {
  Visibility result;
  for (auto& span : result.of_group) span = {0, 0, false};
  for (auto& span : result.of_panel) span = {kGroups, 0, false};
  for (int64_t g = 0; g < place.groups(); ++g) {
    const int64_t first = place.query + g * kTileRows;
    const int64_t last = smaller(first + kTileRows, place.query + place.rows) - 1;
    const Span span = result.of_group[g] =
        span_of(visible, first, last, place.first_key + place.key, place.keys);
    for (int64_t p = span.begin; p < span.end; ++p) {
      result.nothing = false;
      result.of_panel[p] = {smaller(result.of_panel[p].begin, g), g + 1, false};
    }
  }
  return result;
}

/// to [groups of 8][panels of 32] = rows · panels, where visible.
template <class Operand>
void multiply_visible(const uint32_t* rows, const uint32_t* panels, int64_t depth,
                      const Visibility& visibility, float* to) {
  for (int64_t pair = 0; pair < kPanels; pair += 2) {
    for (int64_t g = 0; g < kGroups; ++g) {
      const Span& span = visibility.of_group[g];
      const int64_t panel = larger(pair, span.begin), count = smaller(pair + 2, span.end) - panel;
      row_product<Operand, false>({rows + g * kTileRows * depth, depth, 1}, panels + panel * kPanel * depth,
                                  kPanel * depth, count, depth, to + g * kTileRows * kStride + panel * kPanel,
                                  kStride);
    }
  }
}

/// keys' sums += tileᵀ · panels over the queries of the tile: dV from P and dO, dK from dS and Q.
template <class Operand>
void add_to_keys(const uint32_t* tile, const uint32_t* panels, const Visibility& visibility, int64_t columns,
                 float* sums) {
  constexpr int64_t kGroupWords = kTileRows / Operand::kPerWord;
  constexpr int64_t kPanelStride = Tiles<Operand>::kQueryStride;
  for (int64_t column = 0; column < columns; column += 2 * kPanel) {
    const int64_t count = smaller(2, (columns - column) / kPanel);
    for (int64_t p = 0; p < kPanels; ++p) {
      const Span& groups = visibility.of_panel[p];
      if (groups.begin >= groups.end) continue;
      const int64_t from = groups.begin * kGroupWords, depth = groups.end * kGroupWords - from;
      for (int64_t key = p * kPanel; key < (p + 1) * kPanel; key += kTileRows) {
        row_product<Operand, true>({tile + from * kStride + key, 1, kStride},
                                   panels + column / kPanel * kPanelStride + from * kPanel, kPanelStride,
                                   count, depth, sums + key * columns + column, columns);
      }
    }
  }
}

/// queries' sums += dS · K.
template <class Operand>
void add_to_queries(const uint32_t* slopes, const uint32_t* k_panels, int64_t key_stride,
                    const Visibility& visibility, int64_t groups, int64_t columns, float* sums) {
  for (int64_t column = 0; column < columns; column += 2 * kPanel) {
    const int64_t count = smaller(2, (columns - column) / kPanel);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t from = words_of<Operand>(visibility.of_group[g].begin * kPanel);
      const int64_t depth = words_of<Operand>(visibility.of_group[g].end * kPanel) - from;
      if (depth == 0) continue;
      row_product<Operand, true>({slopes + g * kTileRows * kStride + from, kStride, 1},
                                 k_panels + column / kPanel * key_stride + from * kPanel, key_stride, count,
                                 depth, sums + g * kTileRows * columns + column, columns);
    }
  }
}

struct RowNumbers {
  float log_sum, out_product;
};

/// Two rows of scores and dP become P and dS. Pairs are also written with the two rows interleaved; dS then
/// takes the first half of its row.
template <class Operand>
LACT_INLINE void differentiate_rows(const Tiles<Operand>& at, int64_t row, Span span, const Seen* seen,
                                    const RowNumbers* numbers, float scale, bool with_slopes) {
  for (int64_t i = span.begin * kPanel; i < span.end * kPanel; i += kLanes) {
    Vec weight[2], slope[2] = {};
    for (int r = 0; r < 2; ++r) {
      float* scores = at.weights + (row + r) * kStride + i;
      weight[r] = power_of_two(load(scores) * scale - numbers[r].log_sum);
      if (span.cut) weight[r] = select(visible_lanes(seen[r], i), weight[r], Vec{});
      if (Operand::kPerWord == 1) store(scores, weight[r]);
      if (!with_slopes) continue;
      float* slopes = at.slopes + (row + r) * kStride;
      slope[r] = weight[r] * (load(slopes + i) - numbers[r].out_product);
      store(reinterpret_cast<typename Operand::Number*>(slopes) + i, slope[r]);
    }
    if constexpr (Operand::kPerWord == 2) {
      store_bits(at.weight_pairs + row / 2 * kStride + i, interleave(weight[0], weight[1]));
      store_bits(at.slope_pairs + row / 2 * kStride + i, interleave(slope[0], slope[1]));
    }
  }
}

template <class Operand>
void differentiate(const Tiles<Operand>& at, const VisibleRows& visible, const Place& place,
                   const Visibility& visibility, const RowNumbers* numbers, float scale, bool with_slopes) {
  for (int64_t g = 0; g < place.groups(); ++g) {
    const Span span = visibility.of_group[g];
    for (int64_t row = g * kTileRows; row < (g + 1) * kTileRows; row += 2) {
      const Seen seen[2] = {seen_by(visible, place.query + row, place.first_key + place.key, place.keys),
                            seen_by(visible, place.query + row + 1, place.first_key + place.key, place.keys)};
      differentiate_rows<Operand>(at, row, span, seen, numbers + row, scale, with_slopes);
    }
  }
}

/// All products of one tile. The queries are packed already, the numbers are those of its rows.
template <class Operand>
void tile(const AttentionHead& head, const Tiles<Operand>& at, const VisibleRows& visible, const Place& place,
          const RowNumbers* numbers, const AttentionGradients& gradients) {
  const Visibility visibility = visibility_of(visible, place);
  if (visibility.nothing) return;
  const bool with_slopes = gradients.q_sums != nullptr || gradients.k.numbers != nullptr;
  multiply_visible<Operand>(at.q_rows, at.k_turned + place.key * at.depth, at.depth, visibility, at.weights);
  if (with_slopes) {
    multiply_visible<Operand>(at.out_rows, at.v_turned + place.key * at.value_depth, at.value_depth,
                              visibility, at.slopes);
  }
  differentiate<Operand>(at, visible, place, visibility, numbers, head.scale * kLog2e, with_slopes);
  constexpr bool kPairs = Operand::kPerWord == 2;
  const auto* slopes = reinterpret_cast<const uint32_t*>(at.slopes);
  if (gradients.v.numbers != nullptr) {
    const auto* weights = kPairs ? at.weight_pairs : reinterpret_cast<const uint32_t*>(at.weights);
    add_to_keys<Operand>(weights, at.out_panels, visibility, at.value_columns,
                         at.v_sums + place.key * at.value_columns);
  }
  if (gradients.k.numbers != nullptr) {
    add_to_keys<Operand>(kPairs ? at.slope_pairs : slopes, at.q_panels, visibility, at.columns,
                         at.k_sums + place.key * at.columns);
  }
  if (gradients.q_sums != nullptr) {
    add_to_queries<Operand>(slopes, at.k_panels + words_of<Operand>(place.key) * kPanel, at.key_stride,
                            visibility, place.groups(), at.columns,
                            gradients.q_sums + (place.query - gradients.first_query) * at.columns);
  }
}

template <class Operand, class Number>
void pack_queries(const AttentionHead& head, const Tiles<Operand>& at, const AttentionBackwardInput& input,
                  int64_t query, int64_t rows, RowNumbers* numbers) {
  const int64_t padded = round_up(rows, kTileRows);
  constexpr int64_t kStride = Tiles<Operand>::kQueryStride;
  const Number* q = row_of<Number>(head.q, query);
  const Number* out = row_of<Number>(input.out_gradient, query);
  pack_rows<Operand>(q, head.q.stride, rows, head.width, at.q_rows);
  pack_padded_panels<Operand>(q, head.q.stride, rows, head.width, padded, at.q_panels, kStride);
  pack_rows<Operand>(out, input.out_gradient.stride, rows, head.value_width, at.out_rows);
  pack_padded_panels<Operand>(out, input.out_gradient.stride, rows, head.value_width, padded, at.out_panels,
                              kStride);
  for (int64_t r = 0; r < padded; ++r) {
    // A row that does not exist has weights 2^-infinity.
    numbers[r] = r < rows ? RowNumbers{input.log_sums[query + r], input.out_products[query + r]}
                          : RowNumbers{__builtin_inff(), 0};
  }
}

template <class Number>
void write_rows(const float* from, int64_t from_stride, int64_t rows, int64_t width, float scale,
                HeadOutput to) {
  for (int64_t r = 0; r < rows; ++r, from += from_stride) {
    write_row(from, width, scale, static_cast<Number*>(to.numbers) + r * to.stride);
  }
}

template <class Operand, class Number>
void key_block(const AttentionHead& head, const AttentionBackwardInput& input, int64_t begin, int64_t end,
               const QueriesAndKeys* pieces, int64_t num_pieces, const AttentionGradients& gradients,
               uint32_t* space) {
  const int64_t keys = end - begin, rows = round_up(keys, kPanel);
  const Tiles<Operand> at(head, keys, space);
  const Number *k = row_of<Number>(head.k, begin), *v = row_of<Number>(head.v, begin);
  pack_panels_transposed<Operand>(k, head.k.stride, head.width, keys, at.k_turned, at.depth * kPanel);
  pack_panels_transposed<Operand>(v, head.v.stride, head.value_width, keys, at.v_turned,
                                  at.value_depth * kPanel);
  pack_padded_panels<Operand>(k, head.k.stride, keys, head.width, rows, at.k_panels, at.key_stride);
  for (int64_t i = 0; i < rows * at.columns; ++i) at.k_sums[i] = 0;
  for (int64_t i = 0; i < rows * at.value_columns; ++i) at.v_sums[i] = 0;

  RowNumbers numbers[kQueryTile];
  for (int64_t i = 0; i < num_pieces; ++i) {
    for (int64_t range = 0; range < pieces[i].num_ranges; ++range) {
      VisibleRows visible = pieces[i].ranges[range];
      visible.begin = larger(visible.begin, begin);
      visible.end = smaller(visible.end, end);
      if (visible.begin >= visible.end) continue;
      const int64_t first = larger(pieces[i].begin, visible.begin - visible.newest);
      const int64_t last = smaller(pieces[i].end, visible.end - visible.oldest);
      for (int64_t query = first; query < last; query += kQueryTile) {
        const int64_t count = smaller(kQueryTile, last - query);
        pack_queries<Operand, Number>(head, at, input, query, count, numbers);
        const int64_t next = query + count, next_end = smaller(next + kQueryTile, last);
        ask_for_rows<Number>(head.q, next, next_end, head.width);
        ask_for_rows<Number>(input.out_gradient, next, next_end, head.value_width);
        for (int64_t key = 0; key < keys; key += kKeyTile) {
          tile<Operand>(head, at, visible, {query, count, begin, key, smaller(kKeyTile, keys - key)}, numbers,
                        gradients);
        }
      }
    }
  }
  if (gradients.k.numbers != nullptr) {
    write_rows<Number>(
        at.k_sums, at.columns, keys, head.width, head.scale,
        {static_cast<Number*>(gradients.k.numbers) + begin * gradients.k.stride, gradients.k.stride});
  }
  if (gradients.v.numbers != nullptr) {
    write_rows<Number>(
        at.v_sums, at.value_columns, keys, head.value_width, 1,
        {static_cast<Number*>(gradients.v.numbers) + begin * gradients.v.stride, gradients.v.stride});
  }
}

template <class Operand>
int64_t space(const AttentionHead& head, int64_t keys) {
  return Tiles<Operand>(head, keys, nullptr).used;
}

template <class Number>
void row_products(HeadRows left, HeadRows right, int64_t rows, int64_t width, float* products) {
  for (int64_t r = 0; r < rows; ++r) {
    const Number *a = row_of<Number>(left, r), *b = row_of<Number>(right, r);
    Vec sum = {};
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) sum += load(a + i) * load(b + i);
    sum += load_some(a + i, width - i) * load_some(b + i, width - i);
    products[r] = total(sum);
  }
}

template <class Operand, class Number>
constexpr AttentionBackward kernels_of() {
  return {row_products<Number>, space<Operand>, key_block<Operand, Number>, write_rows<Number>};
}

}  // namespace

const AttentionBackwardKernels attention_backward = {
    kernels_of<Singles, float>(), kernels_of<Singles, uint16_t>(), kernels_of<Pairs, uint16_t>()};

}  // namespace lact::kernels::LACT_ISA
