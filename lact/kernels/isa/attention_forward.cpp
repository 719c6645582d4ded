// Forward pass of attention: O = softmax(scale · Q Kᵀ) V with the running maximum and sum of every query.
#include "lact/kernels/attention_tiles.h"

namespace lact::kernels::LACT_ISA {

extern const AttentionForwardKernels attention_forward;

namespace {

constexpr int64_t kQueryTile = 64, kKeyTile = 128, kKeyChunk = 512;
// Rows of scores; a power of two would put all of them into a few sets of the cache.
constexpr int64_t kStride = kKeyTile + 16;
constexpr float kNothingSeen = -3e38f;
// A row is rescaled only when its maximum grew by more than this many powers of two.
constexpr float kSlack = 8;

/// The space of a worker. Keys are packed in chunks that all queries of a piece then use.
template <class Operand>
struct Tiles {
  Tiles(const AttentionHead& head, int64_t queries, int64_t keys, uint32_t* space)
      : depth(words_of<Operand>(head.width)),
        columns(round_up(head.value_width, kPanel)),
        chunk(smaller(kKeyChunk, round_up(keys, kPanel))),
        value_stride(words_of<Operand>(chunk) * kPanel) {
    const int64_t rows = round_up(queries, kGroupRows<Operand>);
    Carver carver(space);
    q = carver.words(rows * depth);
    k = carver.words(chunk * depth);
    v = carver.words(columns / kPanel * value_stride);
    scores = carver.floats(kQueryTile * kStride);
    out = carver.floats(rows * columns);
    sums = carver.floats(rows * kLanes);
    largest = carver.floats(rows);
    used = carver.used();
  }
  int64_t depth, columns, chunk, value_stride, used;
  uint32_t *q, *k, *v;
  float *scores, *out, *sums, *largest;
};

LACT_INLINE bool any_above(Vec x, float limit) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(limit), _CMP_GT_OQ) != 0;
#else
  return top(x) > limit;
#endif
}

LACT_INLINE Vec larger_of(Vec a, Vec b) {
#if defined(__AVX512F__)
  return (Vec)_mm512_max_ps((__m512)a, (__m512)b);
#else
  return maximum(a, b);
#endif
}

/// Everything of a row so far was divided by 2^old; from now on by 2^(the new maximum).
inline void raise_maximum(float maximum_now, float* largest, float* sums, float* out, int64_t columns) {
  const Vec factor = power_of_two(splat(*largest - maximum_now));
  *largest = maximum_now;
  store(sums, load(sums) * factor);
  for (int64_t i = 0; i < columns; i += kLanes) store(out + i, load(out + i) * factor);
}

/// Scores become weights 2^(scale · score - maximum), in place: bfloat16 takes the first half of a row.
template <class Operand>
LACT_INLINE void weigh_row(float* scores, int64_t begin, int64_t end, float scale, float* largest,
                           float* sums, float* out, int64_t columns) {
  Vec most[2] = {load(scores + begin), load(scores + begin + kLanes)};
  for (int64_t i = begin + 2 * kLanes; i < end; i += 2 * kLanes) {
    for (int w = 0; w < 2; ++w) most[w] = larger_of(most[w], load(scores + i + w * kLanes));
  }
  const Vec top_scores = larger_of(most[0], most[1]) * scale;
  if (any_above(top_scores, *largest + kSlack)) raise_maximum(top(top_scores), largest, sums, out, columns);

  const Vec maximum_now = splat(*largest);
  auto* weights = reinterpret_cast<typename Operand::Number*>(scores);
  Vec sum[2] = {};
#pragma GCC unroll 2
  for (int64_t i = begin; i < end; i += 2 * kLanes) {
    Vec weight[2];
    for (int w = 0; w < 2; ++w) {
      weight[w] = weight_of<Operand>(load(scores + i + w * kLanes) * scale - maximum_now);
      sum[w] += weight[w];
    }
    store_two(weights + i, weight[0], weight[1]);
  }
  store(sums, load(sums) + (sum[0] + sum[1]));
}

/// Queries [first, first + rows) against keys [key, key + keys), of which k and v are the packed forms.
template <class Operand>
void tile(const Tiles<Operand>& at, const VisibleRows& visible, int64_t first, int64_t row, int64_t rows,
          int64_t first_key, int64_t key, int64_t keys, float scale) {
  constexpr int64_t kGroup = kGroupRows<Operand>;
  const int64_t groups = (rows + kGroup - 1) / kGroup;
  Span spans[kQueryTile / kGroup];
  int64_t begin = kKeyTile / kPanel, end = 0;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t query = first + row + g * kGroup;
    spans[g] =
        span_of(visible, query, smaller(query + kGroup, first + row + rows) - 1, first_key + key, keys);
    if (spans[g].begin == spans[g].end) continue;
    begin = smaller(begin, spans[g].begin);
    end = larger(end, spans[g].end);
  }
  if (begin >= end) return;

  const uint32_t* q = at.q + row * at.depth;
  for (int64_t pair = begin / 2 * 2; pair < end; pair += 2) {
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t panel = larger(pair, spans[g].begin), count = smaller(pair + 2, spans[g].end) - panel;
      group_product<Operand, false>(q + g * kGroup * at.depth, at.depth,
                                    at.k + (key + panel * kPanel) * at.depth, kPanel * at.depth, count,
                                    at.depth, at.scores + g * kGroup * kStride + panel * kPanel, kStride);
    }
  }

  for (int64_t g = 0; g < groups; ++g) {
    if (spans[g].begin == spans[g].end) continue;
    for (int64_t r = g * kGroup; r < (g + 1) * kGroup; ++r) {
      float* scores = at.scores + r * kStride;
      const int64_t from = spans[g].begin * kPanel, to = spans[g].end * kPanel;
      if (spans[g].cut) {
        const Seen seen = seen_by(visible, first + row + r, first_key + key, keys);
        for (int64_t i = from; i < to; i += kLanes) {
          store(scores + i, select(visible_lanes(seen, i), load(scores + i), splat(-__builtin_inff())));
        }
      }
      weigh_row<Operand>(scores, from, to, scale, at.largest + row + r, at.sums + (row + r) * kLanes,
                         at.out + (row + r) * at.columns, at.columns);
    }
  }

  const auto* weights = reinterpret_cast<const uint32_t*>(at.scores);
  for (int64_t column = 0; column < at.columns; column += 2 * kPanel) {
    const uint32_t* v = at.v + column / kPanel * at.value_stride;
    const int64_t panels = smaller(2, (at.columns - column) / kPanel);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t from = words_of<Operand>(spans[g].begin * kPanel);
      const int64_t depth = words_of<Operand>(spans[g].end * kPanel) - from;
      if (depth == 0) continue;
      group_product<Operand, true>(weights + g * kGroup * kStride + from, kStride,
                                   v + (words_of<Operand>(key) + from) * kPanel, at.value_stride, panels,
                                   depth, at.out + (row + g * kGroup) * at.columns + column, at.columns);
    }
  }
}

template <class Operand, class Number>
void write_out(const Tiles<Operand>& at, const QueriesAndKeys& piece, int64_t width, HeadOutput out,
               float* log_sums) {
  for (int64_t r = 0; r < piece.end - piece.begin; ++r) {
    const float sum = total(load(at.sums + r * kLanes));
    // A query that sees nothing gives zeros.
    const float factor = sum == 0 ? 0 : 1 / sum;
    write_row(at.out + r * at.columns, width, factor,
              static_cast<Number*>(out.numbers) + (piece.begin + r) * out.stride);
    if (log_sums == nullptr) continue;
    log_sums[piece.begin + r] = sum == 0 ? __builtin_inff() : at.largest[r] + __builtin_log2f(sum);
  }
}

template <class Operand, class Number>
void pack_keys(const AttentionHead& head, const Tiles<Operand>& at, int64_t first_key, int64_t keys) {
  for (int64_t key = 0; key < keys; key += kPanel) {
    const int64_t row = first_key + key, count = smaller(kPanel, keys - key), next = row + kPanel;
    ask_for_rows<Number>(head.k, next, smaller(next + kPanel, first_key + keys), head.width);
    ask_for_rows<Number>(head.v, next, smaller(next + kPanel, first_key + keys), head.value_width);
    pack_panels_transposed<Operand>(row_of<Number>(head.k, row), head.k.stride, head.width, count,
                                    at.k + key * at.depth, at.depth * kPanel);
    pack_padded_panels<Operand>(row_of<Number>(head.v, row), head.v.stride, count, head.value_width, kPanel,
                                at.v + words_of<Operand>(key) * kPanel, at.value_stride);
  }
}

template <class Operand, class Number>
void tiles(const AttentionHead& head, const QueriesAndKeys& piece, HeadOutput out, float* log_sums,
           uint32_t* space) {
  const int64_t queries = piece.end - piece.begin;
  int64_t most_keys = 0;
  for (int64_t i = 0; i < piece.num_ranges; ++i) {
    const VisibleRows visible = narrowed(piece.ranges[i], piece.begin, piece.end);
    most_keys = larger(most_keys, visible.end - visible.begin);
  }
  const TilesInUse registers;
  const Tiles<Operand> at(head, queries, most_keys, space);
  const int64_t rows = round_up(queries, kGroupRows<Operand>);
  pack_padded_rows<Operand>(row_of<Number>(head.q, piece.begin), head.q.stride, queries, head.width, rows,
                            at.q);
  for (int64_t i = 0; i < rows * at.columns; ++i) at.out[i] = 0;
  for (int64_t i = 0; i < rows * kLanes; ++i) at.sums[i] = 0;
  for (int64_t i = 0; i < rows; ++i) at.largest[i] = kNothingSeen;

  for (int64_t i = 0; i < piece.num_ranges; ++i) {
    const VisibleRows visible = narrowed(piece.ranges[i], piece.begin, piece.end);
    for (int64_t first_key = visible.begin; first_key < visible.end; first_key += at.chunk) {
      const int64_t keys = smaller(at.chunk, visible.end - first_key);
      pack_keys<Operand, Number>(head, at, first_key, keys);
      for (int64_t row = 0; row < queries; row += kQueryTile) {
        for (int64_t key = 0; key < keys; key += kKeyTile) {
          tile<Operand>(at, visible, piece.begin, row, smaller(kQueryTile, queries - row), first_key, key,
                        smaller(kKeyTile, keys - key), head.scale * kLog2e);
        }
      }
    }
  }
  write_out<Operand, Number>(at, piece, head.value_width, out, log_sums);
}

template <class Operand>
int64_t tile_space(const AttentionHead& head, int64_t queries, int64_t keys) {
  return Tiles<Operand>(head, queries, keys, nullptr).used;
}

template <class Operand, class Number>
constexpr AttentionForward kernels_of() {
  return {tile_space<Operand>, tiles<Operand, Number>};
}

}  // namespace

const AttentionForwardKernels attention_forward = {
    kernels_of<Singles, float>(), kernels_of<Singles, uint16_t>(), kernels_of<Pairs, uint16_t>()};

}  // namespace lact::kernels::LACT_ISA
