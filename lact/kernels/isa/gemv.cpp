#include "lact/kernels/gemv.h"

#include <algorithm>

#include "lact/kernels/tile.h"

namespace lact::kernels::LACT_ISA {

namespace {

typedef int8_t Bytes __attribute__((vector_size(kLanes)));
typedef int8_t BytesAnywhere __attribute__((vector_size(kLanes), aligned(1), may_alias));

LACT_INLINE float total(Vec x) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)x);
#else
  return sum(x);
#endif
}

/// What a step of each form takes from a row and from a token.
struct SinglesForm {
  using Weight = float;
  using X = float;
  static constexpr int kStep = kLanes;
  struct Taken {
    Vec numbers;
  };
  static LACT_INLINE Taken take(const float* weight) { return {load(weight)}; }
  static LACT_INLINE Vec dot(Vec sums, Taken weight, const float* x) {
    return sums + weight.numbers * load(x);
  }
};

struct HalvesForm {
  using Weight = uint16_t;
  using X = float;
  static constexpr int kStep = 2 * kLanes;
  struct Taken {
    Vec even, odd;
  };
  static LACT_INLINE Taken take(const uint16_t* weight) {
    const Bits words = load_bits(reinterpret_cast<const uint32_t*>(weight));
    return {(Vec)(words << 16), (Vec)(words & 0xffff0000)};
  }
  static LACT_INLINE Vec dot(Vec sums, Taken weight, const float* x) {
    sums = sums + weight.even * load(x);
    return sums + weight.odd * load(x + kLanes);
  }
};

struct PairsForm {
  using Weight = uint16_t;
  using X = uint16_t;
  static constexpr int kStep = 2 * kLanes;
  struct Taken {
    Bits words;
  };
  static LACT_INLINE Taken take(const uint16_t* weight) {
    return {load_bits(reinterpret_cast<const uint32_t*>(weight))};
  }
  static LACT_INLINE Vec dot(Vec sums, Taken weight, const uint16_t* x) {
    return Pairs::dot(sums, weight.words, load_bits(reinterpret_cast<const uint32_t*>(x)));
  }
};

/// Asks for the bytes behind the next rows. Taking compressed numbers apart leaves the processor less room to
/// look ahead by itself: a tenth faster on Sapphire Rapids.
LACT_INLINE void ask_ahead(const void* weight) {
  constexpr int kAhead = 2048;
  __builtin_prefetch(static_cast<const char*>(weight) + kAhead);
}

/// One row and `Tokens` tokens. A sum would wait for itself: each token has four, also where there are enough
/// tokens to work on, so that their number does not change the order in which its numbers are added up.
template <class Form, int Tokens>
LACT_INLINE void row_product(const typename Form::Weight* weight, int64_t width, const typename Form::X* x,
                             float* y, int64_t y_stride) {
  constexpr int kWays = 4, kStep = Form::kStep;
  Vec sums[Tokens][kWays] = {};
  int64_t i = 0;
  for (; i + kWays * kStep <= width; i += kWays * kStep) {
    for (int way = 0; way < kWays; ++way) {
      if (sizeof(typename Form::Weight) < sizeof(float)) ask_ahead(weight + i + way * kStep);
      const auto taken = Form::take(weight + i + way * kStep);
      for (int t = 0; t < Tokens; ++t) {
        sums[t][way] = Form::dot(sums[t][way], taken, x + t * width + i + way * kStep);
      }
    }
  }
  for (; i + kStep <= width; i += kStep) {
    const auto taken = Form::take(weight + i);
    for (int t = 0; t < Tokens; ++t) sums[t][0] = Form::dot(sums[t][0], taken, x + t * width + i);
  }
  for (int t = 0; t < Tokens; ++t) {
    for (int way = 1; way < kWays; ++way) sums[t][0] = sums[t][0] + sums[t][way];
    float result = total(sums[t][0]);
    if constexpr (kStep == kLanes) {
      for (int64_t j = i; j < width; ++j) result += weight[j] * x[t * width + j];
    }
    y[t * y_stride] = result;
  }
}

template <int Tokens>
LACT_INLINE void byte_row_product(const uint8_t* weight, const float* scales, int64_t groups, ByteTokens x,
                                  float* y, int64_t y_stride) {
  const int64_t width = groups * kByteGroup;
#if defined(__AVX512VNNI__)
  constexpr int kWays = 2;
  __m512 sums[Tokens][kWays] = {};
  const auto group_product = [&](int64_t group, int way) __attribute__((always_inline)) {
    const uint8_t* from = weight + group * kByteGroup;
    ask_ahead(from);
    ask_ahead(from + 64);
    const __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + 64);
    for (int t = 0; t < Tokens; ++t) {
      const int8_t* bytes = x.bytes + t * width + group * kByteGroup;
      __m512i dots = _mm512_zextsi128_si512(_mm_cvtsi32_si128(x.sums[t * groups + group]));
      dots = _mm512_dpbusd_epi32(dots, low, _mm512_loadu_si512(bytes));
      dots = _mm512_dpbusd_epi32(dots, high, _mm512_loadu_si512(bytes + 64));
      const __m512 scale = _mm512_set1_ps(scales[group] * x.scales[t * groups + group]);
      sums[t][way] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), scale, sums[t][way]);
    }
  };
  int64_t group = 0;
  for (; group + kWays <= groups; group += kWays) {
    for (int way = 0; way < kWays; ++way) group_product(group + way, way);
  }
  for (; group < groups; ++group) group_product(group, 0);
  for (int t = 0; t < Tokens; ++t) {
    for (int way = 1; way < kWays; ++way) sums[t][0] = _mm512_add_ps(sums[t][0], sums[t][way]);
    y[t * y_stride] = _mm512_reduce_add_ps(sums[t][0]);
  }
#else
  for (int t = 0; t < Tokens; ++t) {
    float result = 0;
    for (int64_t group = 0; group < groups; ++group) {
      const uint8_t* from = weight + group * kByteGroup;
      const int8_t* bytes = x.bytes + t * width + group * kByteGroup;
      int32_t dot = 0;
      for (int i = 0; i < kByteGroup; ++i) dot += int32_t(from[i]) * int32_t(bytes[i]);
      result += float(dot + x.sums[t * groups + group]) * (scales[group] * x.scales[t * groups + group]);
    }
    y[t * y_stride] = result;
  }
#endif
}

/// Four sums of each token have to stay in registers.
#if defined(__AVX512F__)
constexpr int kMostAtOnce = 4;
#else
constexpr int kMostAtOnce = 2;
#endif

/// Calls body(row, t) for every row and token, with the largest power of two up to kMostAtOnce tokens that
/// fits. Eight tokens and a row are in the nearest cache while they meet.
template <class Body>
LACT_INLINE void by_rows_and_tokens(int64_t rows, int64_t tokens, const Body& body) {
  for (int64_t first = 0; first < tokens; first += 8) {
    const int64_t end = std::min(tokens, first + 8);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t t = first;
      if constexpr (kMostAtOnce == 4) {
        for (; t + 4 <= end; t += 4) body.template operator()<4>(row, t);
      }
      for (; t + 2 <= end; t += 2) body.template operator()<2>(row, t);
      for (; t < end; ++t) body.template operator()<1>(row, t);
    }
  }
}

template <class Form>
void product(const typename Form::Weight* weight, WeightRows rows, const typename Form::X* x, int64_t tokens,
             float* y, int64_t y_stride) {
  by_rows_and_tokens(
      rows.count, tokens, [&]<int Tokens>(int64_t row, int64_t t) __attribute__((always_inline)) {
        row_product<Form, Tokens>(weight + row * rows.width, rows.width, x + t * rows.width,
                                  y + t * y_stride + row, y_stride);
      });
}

void byte_product(const uint8_t* weight, const float* scales, WeightRows rows, const ByteTokens& x,
                  int64_t tokens, float* y, int64_t y_stride) {
  const int64_t groups = rows.width / kByteGroup;
  by_rows_and_tokens(
      rows.count, tokens, [&]<int Tokens>(int64_t row, int64_t t) __attribute__((always_inline)) {
        const ByteTokens from = {x.bytes + t * rows.width, x.scales + t * groups, x.sums + t * groups};
        byte_row_product<Tokens>(weight + row * rows.width, scales + row * groups, groups, from,
                                 y + t * y_stride + row, y_stride);
      });
}

void arrange(const float* x, int64_t width, float* to) {
  for (int64_t i = 0; i < width; i += 2 * kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      to[i + lane] = x[i + 2 * lane];
      to[i + kLanes + lane] = x[i + 2 * lane + 1];
    }
  }
}

void quantize(const float* x, int64_t width, int8_t* bytes, float* scales, int32_t* sums) {
  for (int64_t group = 0; group < width / kByteGroup; ++group) {
    const float* from = x + group * kByteGroup;
    int8_t* to = bytes + group * kByteGroup;
    Vec most = {}, nothing = {};
    for (int i = 0; i < kByteGroup; i += kLanes) {
      const Vec value = load(from + i);
      most = maximum(most, maximum(value, -value));
      nothing = nothing + value * 0.f;  // NaN and infinity must not become an ordinary byte
    }
    const float scale = largest(most) / 127 + total(nothing);
    const float inverse = scale > 0 ? 1 / scale : 0;
    Ints total_bytes = {};
    for (int i = 0; i < kByteGroup; i += kLanes) {
      // Adding 1.5 · 2^23 rounds to an integer, which then stands in the lowest bits.
      const Ints rounded = (Ints)(load(from + i) * inverse + 12582912.f) - 0x4b400000;
      total_bytes += rounded;
      *reinterpret_cast<BytesAnywhere*>(to + i) = __builtin_convertvector(rounded, Bytes);
    }
    // Unsigned: bytes of NaN are anything, and must not overflow before the scale makes them NaN again.
    uint32_t sum_of_bytes = 0;
    for (int lane = 0; lane < kLanes; ++lane) sum_of_bytes += uint32_t(total_bytes[lane]);
    scales[group] = scale;
    sums[group] = int32_t(-128u * sum_of_bytes);
  }
}

}  // namespace

extern const GemvKernels gemv;
const GemvKernels gemv = {
    product<SinglesForm>, product<HalvesForm>, product<PairsForm>, byte_product, arrange, quantize};

}  // namespace lact::kernels::LACT_ISA
