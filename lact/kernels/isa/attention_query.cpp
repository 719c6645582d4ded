#include "lact/kernels/attention_query.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "lact/kernels/attention_tiles.h"

namespace lact::kernels::LACT_ISA {

extern const AttentionQueryKernels attention_query;

namespace {

constexpr int64_t kKeys = 64;     // at once: their scores stay in the nearest cache
constexpr int kScored = 4;        // keys of a head whose scores are computed together
constexpr int64_t kTogether = 8;  // keys whose values are added at once
constexpr int kColumns = 4;       // vectors of the sum of values that stay in registers
constexpr float kNothingSeen = -3e38f;
constexpr int64_t kLine = 64;  // bytes of a cache line

typedef int8_t Bytes __attribute__((vector_size(kLanes)));
typedef int8_t BytesAnywhere __attribute__((vector_size(kLanes), aligned(1), may_alias));

LACT_INLINE Vec load(const int8_t* from) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return (Vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return (Vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
#else
  const Bytes bytes = *reinterpret_cast<const BytesAnywhere*>(from);
  return __builtin_convertvector(__builtin_convertvector(bytes, Ints), Vec);
#endif
}
LACT_INLINE Vec load_some(const int8_t* from, int64_t count) {
#if defined(__AVX512F__)
  const auto lanes = __mmask16(count >= kLanes ? 0xffff : count > 0 ? (1u << count) - 1 : 0);
  return (Vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(lanes, from)));
#else
  Vec value = {};
  for (int64_t i = 0; i < count && i < kLanes; ++i) value[i] = float(from[i]);
  return value;
#endif
}
// The others, which the overloads above would hide.
using kernels::load;
using kernels::load_some;

struct Space {
  Space(const QueryHeads& heads, uint32_t* words)
      : width(round_up(heads.width, kLanes)), columns(round_up(heads.value_width, kColumns * kLanes)) {
    Carver carver(words);
    q = carver.floats(heads.count * width);
    out = carver.floats(heads.count * columns);
    scores = carver.floats(heads.count * kKeys);
    largest = carver.floats(heads.count);
    sums = carver.floats(heads.count);
    used = carver.used();
  }
  int64_t width, columns, used;
  float *q, *out, *scores, *largest, *sums;
};

template <class Number>
LACT_INLINE const Number* row_of(const KeptRows& rows, int64_t token, int64_t head) {
  return static_cast<const Number*>(rows.numbers) + token * rows.token_stride + head * rows.head_stride;
}

/// Asks for a row early: other rows are worked on before it is needed.
template <class Number>
LACT_INLINE void ask_for(const Number* row, int64_t width) {
  const char* from = reinterpret_cast<const char*>(row);
  for (int64_t i = 0; i < width * int64_t(sizeof(Number)); i += kLine) __builtin_prefetch(from + i);
}

/// The sums of four vectors.
LACT_INLINE void store_totals(const Vec (&sums)[kScored], float* to) {
#if defined(__AVX512F__)
  const auto a = (__m512)sums[0], b = (__m512)sums[1], c = (__m512)sums[2], d = (__m512)sums[3];
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const auto low = _mm512_unpacklo_pd((__m512d)ab, (__m512d)cd);
  const auto high = _mm512_unpackhi_pd((__m512d)ab, (__m512d)cd);
  const __m512 quarters = _mm512_add_ps((__m512)low, (__m512)high);
  const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(quarters), _mm512_extractf32x8_ps(quarters, 1));
  _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1)));
#else
  for (int i = 0; i < kScored; ++i) to[i] = total(sums[i]);
#endif
}

/// q · k of kScored keys of one head; q is padded with zeros. Keys behind the last stand for the last.
template <class Number>
LACT_INLINE void score(const float* q, const Number* k, int64_t token_stride, int64_t keys, int64_t width,
                       float* scores) {
  const Number* rows[kScored];
  for (int i = 0; i < kScored; ++i) rows[i] = k + smaller(i, keys - 1) * token_stride;
  Vec sums[kScored] = {};
  int64_t column = 0;
  for (; column + kLanes <= width; column += kLanes) {
    const Vec part = load(q + column);
    for (int i = 0; i < kScored; ++i) sums[i] += part * load(rows[i] + column);
  }
  if (column < width) {
    const Vec part = load(q + column);
    for (int i = 0; i < kScored; ++i) sums[i] += part * load_some(rows[i] + column, width - column);
  }
  store_totals(sums, scores);
}

/// Multiplies what was summed for a head so far, to follow a new maximum.
LACT_INLINE void rescale(const Space& at, int64_t head, float factor) {
  at.sums[head] *= factor;
  float* out = at.out + head * at.columns;
  for (int64_t i = 0; i < at.columns; i += kLanes) store(out + i, load(out + i) * factor);
}

/// Scores of `keys` keys become weights below the new maximum.
inline void weigh(const Space& at, int64_t head, int64_t keys) {
  float* scores = at.scores + head * kKeys;
  for (int64_t i = keys; i < kKeys; ++i) scores[i] = -__builtin_inff();
  Vec most = load(scores);
  for (int64_t i = kLanes; i < kKeys; i += kLanes) most = maximum(most, load(scores + i));
  const float before = at.largest[head], now = top(most) > before ? top(most) : before;
  Vec sum = {};
  for (int64_t i = 0; i < kKeys; i += kLanes) {
    const Vec weight = power_of_two(load(scores + i) - now);
    store(scores + i, weight);
    sum += weight;
  }
  if (now != before) rescale(at, head, power_of_two(splat(before - now))[0]);
  at.largest[head] = now;
  at.sums[head] += total(sum);
}

/// Each number of scores times the scale of its row.
LACT_INLINE void times_scales(const KeptRows& rows, int64_t first, int64_t keys, int64_t head,
                              float* scores) {
  const float* scales = rows.scales + first * rows.scale_stride + head;
  for (int64_t i = 0; i < keys; ++i) scores[i] *= scales[i * rows.scale_stride];
}

/// out += Σ weight · v over up to 8 keys, for kColumns vectors of columns, of which `left` columns exist.
template <bool Whole, class Number>
LACT_INLINE void add_columns(const float* weights, const Number* v, int64_t stride, int64_t keys,
                             int64_t left, float* out) {
  Vec sums[kColumns];
  for (int w = 0; w < kColumns; ++w) sums[w] = load(out + w * kLanes);
  for (int64_t i = 0; i < keys; ++i, v += stride) {
    const Vec weight = splat(weights[i]);
    for (int w = 0; w < kColumns; ++w) {
      sums[w] += weight * (Whole ? load(v + w * kLanes) : load_some(v + w * kLanes, left - w * kLanes));
    }
  }
  for (int w = 0; w < kColumns; ++w) store(out + w * kLanes, sums[w]);
}

template <class Number>
LACT_INLINE void add_values(const float* weights, const Number* v, int64_t stride, int64_t keys,
                            int64_t width, float* out) {
  for (int64_t column = 0; column < width; column += kColumns * kLanes) {
    const int64_t left = width - column;
    if (left >= kColumns * kLanes) {
      add_columns<true>(weights, v + column, stride, keys, left, out + column);
    } else {
      add_columns<false>(weights, v + column, stride, keys, left, out + column);
    }
  }
}

/// `keys` keys from `first` on; `next` is where the following ones end.
template <class Number>
LACT_INLINE void add_block(const Space& at, const QueryHeads& heads, int64_t first, int64_t keys,
                           int64_t next) {
  constexpr bool kScales = sizeof(Number) == 1;
  for (int64_t i = 0; i < keys; i += kScored) {
    for (int64_t head = 0; head < heads.count; ++head) {
      for (int64_t key = first + i; key < smaller(first + i + kScored, first + keys); ++key) {
        ask_for(row_of<Number>(heads.v, key, head), heads.value_width);
      }
      score(at.q + head * at.width, row_of<Number>(heads.k, first + i, head), heads.k.token_stride, keys - i,
            heads.width, at.scores + head * kKeys + i);
    }
  }
  for (int64_t head = 0; head < heads.count; ++head) {
    float* scores = at.scores + head * kKeys;
    if (kScales) times_scales(heads.k, first, keys, head, scores);
    weigh(at, head, keys);
    if (kScales) times_scales(heads.v, first, keys, head, scores);
  }
  for (int64_t i = 0; i < keys; i += kTogether) {
    for (int64_t head = 0; head < heads.count; ++head) {
      for (int64_t key = first + keys + i; key < smaller(first + keys + i + kTogether, next); ++key) {
        ask_for(row_of<Number>(heads.k, key, head), heads.width);
      }
      add_values(at.scores + head * kKeys + i, row_of<Number>(heads.v, first + i, head), heads.v.token_stride,
                 smaller(kTogether, keys - i), heads.value_width, at.out + head * at.columns);
    }
  }
}

template <class Number>
void add_keys(const QueryHeads& heads, int64_t begin, int64_t end, uint32_t* words) {
  const Space at(heads, words);
  for (int64_t key = begin; key < end; key += kKeys) {
    const int64_t keys = smaller(kKeys, end - key);
    add_block<Number>(at, heads, key, keys, smaller(key + keys + kKeys, end));
  }
}

int64_t space(const QueryHeads& heads) { return Space(heads, nullptr).used; }

template <class Number>
void read_query(const Space& at, const QueryHeads& heads) {
  for (int64_t head = 0; head < heads.count; ++head) {
    const Number* from = static_cast<const Number*>(heads.q) + head * heads.q_stride;
    float* q = at.q + head * at.width;
    for (int64_t i = 0; i < at.width; ++i) {
      q[i] = i < heads.width ? widen(from[i]) * heads.scale * kLog2e : 0;
    }
  }
}

void start(const QueryHeads& heads, uint32_t* words) {
  const Space at(heads, words);
  if (heads.halves) {
    read_query<uint16_t>(at, heads);
  } else {
    read_query<float>(at, heads);
  }
  for (int64_t i = 0; i < heads.count * at.columns; ++i) at.out[i] = 0;
  for (int64_t head = 0; head < heads.count; ++head) {
    at.largest[head] = kNothingSeen;
    at.sums[head] = 0;
  }
}

void join(const QueryHeads& heads, uint32_t* words, uint32_t* other) {
  const Space at(heads, words), from(heads, other);
  for (int64_t head = 0; head < heads.count; ++head) {
    const float now = at.largest[head] > from.largest[head] ? at.largest[head] : from.largest[head];
    rescale(at, head, power_of_two(splat(at.largest[head] - now))[0]);
    rescale(from, head, power_of_two(splat(from.largest[head] - now))[0]);
    at.largest[head] = now;
    at.sums[head] += from.sums[head];
    float* out = at.out + head * at.columns;
    for (int64_t i = 0; i < at.columns; i += kLanes) {
      store(out + i, load(out + i) + load(from.out + head * at.columns + i));
    }
  }
}

void finish(const QueryHeads& heads, uint32_t* words, const QueryResult& result) {
  const Space at(heads, words);
  for (int64_t head = 0; head < heads.count; ++head) {
    const float sum = at.sums[head], factor = sum == 0 ? 0 : 1 / sum;
    const float* out = at.out + head * at.columns;
    if (heads.halves) {
      write_row(out, heads.value_width, factor,
                static_cast<uint16_t*>(result.out) + head * result.out_stride);
    } else {
      write_row(out, heads.value_width, factor, static_cast<float*>(result.out) + head * result.out_stride);
    }
    if (result.log_sums == nullptr) continue;
    result.log_sums[head * result.log_sums_stride] =
        sum == 0 ? __builtin_inff() : at.largest[head] + __builtin_log2f(sum);
  }
}

void to_bytes(const float* rows, int64_t count, int64_t width, int8_t* bytes, float* scales) {
  for (int64_t row = 0; row < count; ++row, rows += width, bytes += width) {
    float most = 0, nothing = 0;
    for (int64_t i = 0; i < width; ++i) {
      const float size = __builtin_fabsf(rows[i]);
      most = size > most ? size : most;
      nothing += rows[i] * 0.f;  // NaN and infinity must not become an ordinary byte
    }
    const float scale = most / 127 + nothing, inverse = scale > 0 ? 1 / scale : 0;
    // Adding 1.5 · 2^23 rounds to an integer, which then stands in the lowest bits.
    for (int64_t i = 0; i < width; ++i) {
      const float shifted = rows[i] * inverse + 12582912.f;
      bytes[i] = int8_t(__builtin_bit_cast(int32_t, shifted) - 0x4b400000);
    }
    scales[row] = scale;
  }
}

}  // namespace

const AttentionQueryKernels attention_query = {
    space, start, add_keys<float>, add_keys<uint16_t>, add_keys<int8_t>, join, finish, to_bytes};

}  // namespace lact::kernels::LACT_ISA
