// Backward pass of attention. With the weights P = 2^(scale · Q Kᵀ - log_sums), made again tile by tile:
//   dV += Pᵀ dO,  dP = dO Vᵀ,  dS = P * (dP - rowsum(dO * O)),  dQ += scale · dS K,  dK += scale · dSᵀ Q.
#include "lact/kernels/attention_tiles.h"

namespace lact::kernels::LACT_ISA {

extern const AttentionBackwardKernels attention_backward;

namespace {

constexpr int64_t kQueryTile = 64, kKeyTile = 128;
// Rows of scores; a power of two would put all of them into a few sets of the cache.
constexpr int64_t kStride = kKeyTile + 16;
constexpr int64_t kPanels = kKeyTile / kPanel;
template <class Operand>
constexpr int64_t kGroups = kQueryTile / kGroupRows<Operand>;

/// Sums of keys; (key, channel) stands at key · key_stride + channel · channel_stride.
struct KeySums {
  float* numbers;
  int64_t key_stride, channel_stride;
  LACT_INLINE float* at(int64_t key, int64_t channel) const {
    return numbers + key * key_stride + channel * channel_stride;
  }
  void clear(int64_t keys, int64_t channels) const {
    const int64_t count = channel_stride == 1 ? keys * channels : channel_stride * channels;
    for (int64_t i = 0; i < count; ++i) numbers[i] = 0;
  }
};

/// The space of a worker. "rows" are left operands over the feature axis, "panels" right operands.
///
/// Tile registers multiply a tile of weights only as it lies, so the sums of keys are kept transposed there:
/// dVᵀ += dOᵀ P and dKᵀ += Qᵀ dS, with the panels of dO and Q transposed into left operands.
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
    k_transposed = carver.words(rows * depth);
    v_transposed = carver.words(rows * value_depth);
    k_panels = carver.words(columns / kPanel * key_stride);
    k_sums = sums(carver, rows, columns);
    v_sums = sums(carver, rows, value_columns);
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
    q_left = q_panels;
    out_left = out_panels;
    if (kInTiles<Operand>) {
      q_left = carver.words(columns * kQueryStride / kPanel);
      out_left = carver.words(value_columns * kQueryStride / kPanel);
    }
    used = carver.used();
  }
  static KeySums sums(Carver& carver, int64_t keys, int64_t columns) {
    if (!kInTiles<Operand>) return {carver.floats(keys * columns), columns, 1};
    const int64_t stride = keys + 16;  // no power of two
    return {carver.floats(stride * columns), 1, stride};
  }
  static constexpr int64_t kQueryStride = kQueryTile / Operand::kPerWord * kPanel;
  int64_t depth, value_depth, columns, value_columns, key_stride, used;
  uint32_t *k_transposed, *v_transposed, *k_panels;
  KeySums k_sums, v_sums;
  uint32_t *q_rows, *q_panels, *out_rows, *out_panels;
  float *weights, *slopes;  // scores first, then P; dP first, then dS
  uint32_t *weight_pairs, *slope_pairs;
  uint32_t *q_left, *out_left;  // the panels, transposed where the sums of keys are transposed
};

/// A tile: queries [query, query + rows) against keys [key, key + keys) of the block that begins at
/// first_key.
struct Place {
  int64_t query, rows, first_key, key, keys;
};

/// Which groups of queries see which panels of 32 keys, both ways.
template <class Operand>
struct Visibility {
  Span of_group[kGroups<Operand>];
  Span of_panel[kPanels];
  bool nothing = true;
};

template <class Operand>
LACT_INLINE Visibility<Operand> visibility_of(const VisibleRows& visible, const Place& place) {
  constexpr int64_t kGroup = kGroupRows<Operand>;
  Visibility<Operand> result;
  for (auto& span : result.of_group) span = {0, 0, false};
  for (auto& span : result.of_panel) span = {kGroups<Operand>, 0, false};
  for (int64_t g = 0; g * kGroup < place.rows; ++g) {
    const int64_t first = place.query + g * kGroup;
    const int64_t last = smaller(first + kGroup, place.query + place.rows) - 1;
    const Span span = result.of_group[g] =
        span_of(visible, first, last, place.first_key + place.key, place.keys);
    for (int64_t p = span.begin; p < span.end; ++p) {
      result.nothing = false;
      result.of_panel[p] = {smaller(result.of_panel[p].begin, g), g + 1, false};
    }
  }
  return result;
}

/// to [queries][panels of 32] = rows · panels, where visible.
template <class Operand>
void multiply_visible(const uint32_t* rows, const uint32_t* panels, int64_t depth,
                      const Visibility<Operand>& visibility, float* to) {
  constexpr int64_t kGroup = kGroupRows<Operand>;
  for (int64_t pair = 0; pair < kPanels; pair += 2) {
    for (int64_t g = 0; g < kGroups<Operand>; ++g) {
      const Span& span = visibility.of_group[g];
      const int64_t panel = larger(pair, span.begin), count = smaller(pair + 2, span.end) - panel;
      group_product<Operand, false>(rows + g * kGroup * depth, depth, panels + panel * kPanel * depth,
                                    kPanel * depth, count, depth, to + g * kGroup * kStride + panel * kPanel,
                                    kStride);
    }
  }
}

/// The sums of 32 keys from `key` on and of one or two panels of channels from `channel` on += tileᵀ ·
/// panels.
template <class Operand>
LACT_INLINE void add_to_panel(const uint32_t* tile, const uint32_t* panels, int64_t depth, int64_t key,
                              int64_t channel, int64_t count, const KeySums& sums) {
  constexpr int64_t kPanelStride = Tiles<Operand>::kQueryStride;
#if defined(__AMX_BF16__)
  if constexpr (kInTiles<Operand>) {
    constexpr int64_t kBlock = kTileSide * kTileSide;
    for (int64_t p = 0; p < count; ++p, panels += kPanelStride, channel += kPanel) {
      tiles_product<true>({panels, panels + kBlock, 4 * kTileSide, 2 * kBlock}, tile, depth / kTileSide,
                          sums.at(key, channel), sums.at(key, channel + kTileSide), sums.channel_stride,
                          kStride);
    }
    return;
  }
#endif
  for (int64_t i = 0; i < kPanel; i += kTileRows) {
    row_product<Operand, true>({tile + i, 1, kStride}, panels, kPanelStride, count, depth,
                               sums.at(key + i, channel), sums.key_stride);
  }
}

/// keys' sums += tileᵀ · panels over the queries of the tile: dV from P and dO, dK from dS and Q.
template <class Operand>
void add_to_keys(const uint32_t* tile, const uint32_t* panels, const Visibility<Operand>& visibility,
                 int64_t first_key, int64_t columns, const KeySums& sums) {
  constexpr int64_t kGroupWords = kGroupRows<Operand> / Operand::kPerWord;
  for (int64_t channel = 0; channel < columns; channel += 2 * kPanel) {
    const int64_t count = smaller(2, (columns - channel) / kPanel);
    for (int64_t p = 0; p < kPanels; ++p) {
      const Span& groups = visibility.of_panel[p];
      if (groups.begin >= groups.end) continue;
      const int64_t from = groups.begin * kGroupWords, depth = groups.end * kGroupWords - from;
      const uint32_t* right = panels + channel / kPanel * Tiles<Operand>::kQueryStride + from * kPanel;
      add_to_panel<Operand>(tile + from * kStride + p * kPanel, right, depth, first_key + p * kPanel, channel,
                            count, sums);
    }
  }
}

/// queries' sums += dS · K.
template <class Operand>
void add_to_queries(const uint32_t* slopes, const uint32_t* k_panels, int64_t key_stride,
                    const Visibility<Operand>& visibility, int64_t columns, float* sums) {
  constexpr int64_t kGroup = kGroupRows<Operand>;
  for (int64_t column = 0; column < columns; column += 2 * kPanel) {
    const int64_t count = smaller(2, (columns - column) / kPanel);
    for (int64_t g = 0; g < kGroups<Operand>; ++g) {
      const int64_t from = words_of<Operand>(visibility.of_group[g].begin * kPanel);
      const int64_t depth = words_of<Operand>(visibility.of_group[g].end * kPanel) - from;
      if (depth == 0) continue;
      group_product<Operand, true>(slopes + g * kGroup * kStride + from, kStride,
                                   k_panels + column / kPanel * key_stride + from * kPanel, key_stride, count,
                                   depth, sums + g * kGroup * columns + column, columns);
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
      weight[r] = weight_of<Operand>(load(scores) * scale - numbers[r].log_sum);
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
                   const Visibility<Operand>& visibility, const RowNumbers* numbers, float scale,
                   bool with_slopes) {
  constexpr int64_t kGroup = kGroupRows<Operand>;
  for (int64_t g = 0; g < kGroups<Operand>; ++g) {
    const Span span = visibility.of_group[g];
    for (int64_t row = g * kGroup; row < (g + 1) * kGroup; row += 2) {
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
  const Visibility<Operand> visibility = visibility_of<Operand>(visible, place);
  if (visibility.nothing) return;
  const bool with_slopes = gradients.q_sums != nullptr || gradients.k.numbers != nullptr;
  multiply_visible<Operand>(at.q_rows, at.k_transposed + place.key * at.depth, at.depth, visibility,
                            at.weights);
  if (with_slopes) {
    multiply_visible<Operand>(at.out_rows, at.v_transposed + place.key * at.value_depth, at.value_depth,
                              visibility, at.slopes);
  }
  differentiate<Operand>(at, visible, place, visibility, numbers, head.scale * kLog2e, with_slopes);
  constexpr bool kPairs = Operand::kPerWord == 2;
  const auto* slopes = reinterpret_cast<const uint32_t*>(at.slopes);
  if (gradients.v.numbers != nullptr) {
    const auto* weights = kPairs ? at.weight_pairs : reinterpret_cast<const uint32_t*>(at.weights);
    add_to_keys<Operand>(weights, at.out_left, visibility, place.key, at.value_columns, at.v_sums);
  }
  if (gradients.k.numbers != nullptr) {
    add_to_keys<Operand>(kPairs ? at.slope_pairs : slopes, at.q_left, visibility, place.key, at.columns,
                         at.k_sums);
  }
  if (gradients.q_sums != nullptr) {
    add_to_queries<Operand>(slopes, at.k_panels + words_of<Operand>(place.key) * kPanel, at.key_stride,
                            visibility, at.columns,
                            gradients.q_sums + (place.query - gradients.first_query) * at.columns);
  }
}

template <class Operand, class Number>
void pack_queries(const AttentionHead& head, const Tiles<Operand>& at, const AttentionBackwardInput& input,
                  int64_t query, int64_t rows, RowNumbers* numbers) {
  const int64_t padded = round_up(rows, kGroupRows<Operand>);
  constexpr int64_t kStride = Tiles<Operand>::kQueryStride;
  const Number* q = row_of<Number>(head.q, query);
  const Number* out = row_of<Number>(input.out_gradient, query);
  pack_padded_rows<Operand>(q, head.q.stride, rows, head.width, padded, at.q_rows);
  pack_padded_panels<Operand>(q, head.q.stride, rows, head.width, padded, at.q_panels, kStride);
  pack_padded_rows<Operand>(out, input.out_gradient.stride, rows, head.value_width, padded, at.out_rows);
  pack_padded_panels<Operand>(out, input.out_gradient.stride, rows, head.value_width, padded, at.out_panels,
                              kStride);
#if defined(__AMX_BF16__)
  if constexpr (kInTiles<Operand>) {
    const int64_t blocks = words_of<Operand>(padded) / kTileSide;
    for (int64_t i = 0; i < at.columns / kPanel; ++i) {
      transpose_panel(at.q_panels + i * kStride, blocks, at.q_left + i * kStride);
    }
    for (int64_t i = 0; i < at.value_columns / kPanel; ++i) {
      transpose_panel(at.out_panels + i * kStride, blocks, at.out_left + i * kStride);
    }
  }
#endif
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

/// Rows of keys = scale · their sums.
template <class Number>
void write_keys(const KeySums& sums, int64_t keys, int64_t width, float scale, HeadOutput to) {
  if (sums.channel_stride == 1) {
    return write_rows<Number>(sums.numbers, sums.key_stride, keys, width, scale, to);
  }
  constexpr int64_t kBlock = 16;
  alignas(64) float block[kBlock * kBlock];
  for (int64_t channel = 0; channel < width; channel += kBlock) {
    for (int64_t key = 0; key < keys; key += kBlock) {
      transpose_16(reinterpret_cast<const uint32_t*>(sums.at(key, channel)), sums.channel_stride,
                   reinterpret_cast<uint32_t*>(block), kBlock);
      auto* rows = static_cast<Number*>(to.numbers) + key * to.stride + channel;
      write_rows<Number>(block, kBlock, smaller(kBlock, keys - key), smaller(kBlock, width - channel), scale,
                         {rows, to.stride});
    }
  }
}

template <class Number>
LACT_INLINE HeadOutput from_row(HeadOutput rows, int64_t row) {
  return {static_cast<Number*>(rows.numbers) + row * rows.stride, rows.stride};
}

template <class Operand, class Number>
void key_block(const AttentionHead& head, const AttentionBackwardInput& input, int64_t begin, int64_t end,
               const QueriesAndKeys* pieces, int64_t num_pieces, const AttentionGradients& gradients,
               uint32_t* space) {
  const int64_t keys = end - begin, rows = round_up(keys, kPanel);
  const TilesInUse registers;
  const Tiles<Operand> at(head, keys, space);
  const Number *k = row_of<Number>(head.k, begin), *v = row_of<Number>(head.v, begin);
  pack_panels_transposed<Operand>(k, head.k.stride, head.width, keys, at.k_transposed, at.depth * kPanel);
  pack_panels_transposed<Operand>(v, head.v.stride, head.value_width, keys, at.v_transposed,
                                  at.value_depth * kPanel);
  pack_padded_panels<Operand>(k, head.k.stride, keys, head.width, rows, at.k_panels, at.key_stride);
  at.k_sums.clear(rows, at.columns);
  at.v_sums.clear(rows, at.value_columns);

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
    write_keys<Number>(at.k_sums, keys, head.width, head.scale, from_row<Number>(gradients.k, begin));
  }
  if (gradients.v.numbers != nullptr) {
    write_keys<Number>(at.v_sums, keys, head.value_width, 1, from_row<Number>(gradients.v, begin));
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
