// Attention of one query, as in decoding: a dot product per key and a sum of values, bound by the memory that
// k and v stream from. All heads of a piece are worked on together, because they lie beside each other.
#include "lact/kernels/attention_tiles.h"

namespace lact::kernels::LACT_ISA {

extern const AttentionQueryKernels attention_query;

namespace {

constexpr int64_t kKeys = 64;     // at once: their scores stay in the nearest cache
constexpr int64_t kTogether = 8;  // keys whose values are added at once
constexpr int kColumns = 4;       // vectors of the sum of values that stay in registers
constexpr float kNothingSeen = -3e38f;

struct Space {
  Space(const AttentionHead& head, int64_t heads, uint32_t* words)
      : width(round_up(head.width, kLanes)), columns(round_up(head.value_width, kColumns * kLanes)) {
    Carver carver(words);
    q = carver.floats(heads * width);
    out = carver.floats(heads * columns);
    scores = carver.floats(heads * kKeys);
    largest = carver.floats(heads);
    sums = carver.floats(heads);
    used = carver.used();
  }
  int64_t width, columns, used;
  float *q, *out, *scores, *largest, *sums;
};

/// scale · q · k; q is padded with zeros.
template <class Number>
LACT_INLINE float score_of(const float* q, const Number* k, int64_t width) {
  Vec sum[2] = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= width; i += 2 * kLanes) {
    for (int w = 0; w < 2; ++w) sum[w] += load(q + i + w * kLanes) * load(k + i + w * kLanes);
  }
  if (i + kLanes <= width) sum[0] += load(q + i) * load(k + i), i += kLanes;
  if (i < width) sum[1] += load(q + i) * load_some(k + i, width - i);
  return total(sum[0] + sum[1]);
}

/// Scores of `keys` keys become weights; what was summed so far follows the new maximum.
inline void weigh(const Space& at, int64_t head, int64_t keys) {
  float* scores = at.scores + head * kKeys;
  for (int64_t i = keys; i < kKeys; ++i) scores[i] = -__builtin_inff();
  Vec most = load(scores);
  for (int64_t i = kLanes; i < kKeys; i += kLanes) most = maximum(most, load(scores + i));
  const float before = at.largest[head], now = top(most) > before ? top(most) : before;
  const Vec factor = power_of_two(splat(before - now));
  Vec sum = {};
  for (int64_t i = 0; i < kKeys; i += kLanes) {
    const Vec weight = power_of_two(load(scores + i) - now);
    store(scores + i, weight);
    sum += weight;
  }
  at.largest[head] = now;
  at.sums[head] = at.sums[head] * factor[0] + total(sum);
  if (now == before) return;
  float* out = at.out + head * at.columns;
  for (int64_t i = 0; i < at.columns; i += kLanes) store(out + i, load(out + i) * factor);
}

/// out += Σ weight · v over up to 8 keys.
template <class Number>
LACT_INLINE void add_values(const float* weights, const Number* v, int64_t stride, int64_t keys,
                            int64_t width, float* out) {
  for (int64_t column = 0; column < width; column += kColumns * kLanes) {
    Vec sums[kColumns];
    for (int w = 0; w < kColumns; ++w) sums[w] = load(out + column + w * kLanes);
    const bool whole = column + kColumns * kLanes <= width;
    for (int64_t i = 0; i < keys; ++i) {
      const Number* row = v + i * stride + column;
      for (int w = 0; w < kColumns; ++w) {
        const int64_t left = width - column - w * kLanes;
        sums[w] += weights[i] *
                   (whole || left >= kLanes ? load(row + w * kLanes) : load_some(row + w * kLanes, left));
      }
    }
    for (int w = 0; w < kColumns; ++w) store(out + column + w * kLanes, sums[w]);
  }
}

template <class Number>
void begin_heads(const Space& at, const AttentionHead& first_head, const NeighbourHeads& heads,
                 int64_t query) {
  for (int64_t h = 0; h < heads.count; ++h) {
    const Number* from = row_of<Number>(first_head.q, query) + h * heads.q_stride;
    float* q = at.q + h * at.width;
    for (int64_t i = 0; i < at.width; ++i) {
      q[i] = i < first_head.width ? widen(from[i]) * first_head.scale * kLog2e : 0;
    }
    for (int64_t i = 0; i < at.columns; ++i) at.out[h * at.columns + i] = 0;
    at.largest[h] = kNothingSeen;
    at.sums[h] = 0;
  }
}

template <class Number>
void add_keys(const Space& at, const AttentionHead& first_head, const NeighbourHeads& heads,
              int64_t first_key, int64_t keys) {
  for (int64_t i = 0; i < keys; ++i) {
    const Number* k = row_of<Number>(first_head.k, first_key + i);
    for (int64_t h = 0; h < heads.count; ++h, k += heads.k_stride) {
      at.scores[h * kKeys + i] = score_of(at.q + h * at.width, k, first_head.width);
    }
  }
  for (int64_t h = 0; h < heads.count; ++h) weigh(at, h, keys);
  for (int64_t i = 0; i < keys; i += kTogether) {
    const Number* v = row_of<Number>(first_head.v, first_key + i);
    for (int64_t h = 0; h < heads.count; ++h, v += heads.v_stride) {
      ask_for_rows<Number>({v, first_head.v.stride}, kTogether, smaller(2 * kTogether, keys - i),
                           first_head.value_width);
      add_values(at.scores + h * kKeys + i, v, first_head.v.stride, smaller(kTogether, keys - i),
                 first_head.value_width, at.out + h * at.columns);
    }
  }
}

template <class Number>
void stream(const AttentionHead& first_head, const NeighbourHeads& heads, int64_t query,
            const QueriesAndKeys& piece, HeadOutput out, float* log_sums, uint32_t* space) {
  const Space at(first_head, heads.count, space);
  begin_heads<Number>(at, first_head, heads, query);
  for (int64_t i = 0; i < piece.num_ranges; ++i) {
    const VisibleRows seen = narrowed(piece.ranges[i], query, query + 1);
    for (int64_t key = seen.begin; key < seen.end; key += kKeys) {
      add_keys<Number>(at, first_head, heads, key, smaller(kKeys, seen.end - key));
    }
  }
  for (int64_t h = 0; h < heads.count; ++h) {
    // A query that sees nothing gives zeros.
    const float sum = at.sums[h], factor = sum == 0 ? 0 : 1 / sum;
    write_row(at.out + h * at.columns, first_head.value_width, factor,
              static_cast<Number*>(out.numbers) + query * out.stride + h * heads.out_stride);
    if (log_sums == nullptr) continue;
    log_sums[query + h * heads.log_sums_stride] =
        sum == 0 ? __builtin_inff() : at.largest[h] + __builtin_log2f(sum);
  }
}

int64_t space(const AttentionHead& head, int64_t heads) { return Space(head, heads, nullptr).used; }

}  // namespace

const AttentionQueryKernels attention_query = {{space, stream<float>}, {space, stream<uint16_t>}};

}  // namespace lact::kernels::LACT_ISA
