// Vectors of the instruction set that a file of kernels/isa/ is being compiled for. Only those files include
// this one; everything is local to the file, so that no version leaks into another.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace lact::kernels {
namespace {

#define LACT_INLINE inline __attribute__((always_inline))

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef uint32_t Bits __attribute__((vector_size(4 * kLanes)));
typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
typedef uint16_t Halves __attribute__((vector_size(2 * kLanes)));

// The same at any address and over any type.
typedef float VecAnywhere __attribute__((vector_size(4 * kLanes), aligned(2), may_alias));
typedef uint32_t BitsAnywhere __attribute__((vector_size(4 * kLanes), aligned(2), may_alias));
typedef uint16_t HalvesAnywhere __attribute__((vector_size(2 * kLanes), aligned(2), may_alias));

LACT_INLINE Vec splat(float x) { return x - Vec{}; }
LACT_INLINE Bits splat_bits(uint32_t x) { return x - Bits{}; }
LACT_INLINE Vec load(const float* from) { return *reinterpret_cast<const VecAnywhere*>(from); }
LACT_INLINE void store(float* to, Vec value) { *reinterpret_cast<VecAnywhere*>(to) = value; }
LACT_INLINE Bits load_bits(const uint32_t* from) { return *reinterpret_cast<const BitsAnywhere*>(from); }
LACT_INLINE void store_bits(uint32_t* to, Bits value) { *reinterpret_cast<BitsAnywhere*>(to) = value; }

LACT_INLINE Vec select(Ints where, Vec yes, Vec no) { return where ? yes : no; }
LACT_INLINE Vec maximum(Vec a, Vec b) { return select(a > b, a, b); }
LACT_INLINE Vec minimum(Vec a, Vec b) { return select(a < b, a, b); }

/// bfloat16 is the upper half of a float32, rounded to nearest even; NaN stays NaN. The result is in the
/// upper half.
LACT_INLINE Bits round_to_bf16(Vec x) {
  const Bits bits = (Bits)x;
  const Bits rounded = bits + 0x7fff + ((bits >> 16) & 1);
  return ((Bits)(x == x) & rounded & 0xffff0000) | (~(Bits)(x == x) & 0x7fc00000);
}

LACT_INLINE Vec load(const uint16_t* bf16) {
#if defined(__AVX512F__)
  // The compiler would widen each half by itself and join them.
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(bf16));
  return (Vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
#else
  const Halves halves = *reinterpret_cast<const HalvesAnywhere*>(bf16);
  return (Vec)(__builtin_convertvector(halves, Bits) << 16);
#endif
}
LACT_INLINE void store(uint16_t* bf16, Vec value) {
#if defined(__AVX512BF16__)
  *reinterpret_cast<HalvesAnywhere*>(bf16) = (Halves)_mm512_cvtneps_pbh((__m512)value);
#else
  *reinterpret_cast<HalvesAnywhere*>(bf16) = __builtin_convertvector(round_to_bf16(value) >> 16, Halves);
#endif
}

/// Two neighbouring vectors at once: a tile register reads back only what was written as a whole line.
LACT_INLINE void store_two(float* to, Vec first, Vec second) {
  store(to, first);
  store(to + kLanes, second);
}
LACT_INLINE void store_two(uint16_t* bf16, Vec first, Vec second) {
#if defined(__AVX512BF16__)
  _mm512_storeu_si512(bf16, (__m512i)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first));
#else
  store(bf16, first);
  store(bf16 + kLanes, second);
#endif
}

/// Two rows of bfloat16 interleaved: `even` in the lower halves.
LACT_INLINE Bits interleave(Vec even, Vec odd) {
#if defined(__AVX512BF16__)
  const __m512i behind_each_other = (__m512i)_mm512_cvtne2ps_pbh((__m512)odd, (__m512)even);
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return (Bits)_mm512_permutexvar_epi16(order, behind_each_other);
#else
  return (round_to_bf16(even) >> 16) | round_to_bf16(odd);
#endif
}

LACT_INLINE float widen(float x) { return x; }
LACT_INLINE float widen(uint16_t bf16) { return __builtin_bit_cast(float, uint32_t(bf16) << 16); }
LACT_INLINE void narrow(float* to, float x) { *to = x; }
LACT_INLINE void narrow(uint16_t* to, float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  *to = x != x ? 0x7fc0 : uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// The first `count` lanes, zeros after them.
template <class Number>
LACT_INLINE Vec load_some(const Number* from, int64_t count) {
#if defined(__AVX512F__)
  const auto lanes = __mmask16(count >= kLanes ? 0xffff : count > 0 ? (1u << count) - 1 : 0);
  if constexpr (sizeof(Number) == 4)
    return (Vec)_mm512_maskz_loadu_ps(lanes, from);
  else
    return (Vec)(__builtin_convertvector((Halves)_mm256_maskz_loadu_epi16(lanes, from), Bits) << 16);
#else
  Vec value = {};
  for (int64_t i = 0; i < count && i < kLanes; ++i) value[i] = widen(from[i]);
  return value;
#endif
}
template <class Number>
LACT_INLINE void store_some(Number* to, Vec value, int64_t count) {
  for (int64_t i = 0; i < count && i < kLanes; ++i) narrow(to + i, value[i]);
}

LACT_INLINE float sum(Vec x) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)x);
#else
  float total = 0;
  for (int i = 0; i < kLanes; ++i) total += x[i];
  return total;
#endif
}
LACT_INLINE float largest(Vec x) {
  float most = x[0];
  for (int i = 1; i < kLanes; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

/// e^x within 2 units in the last place; 0 below -87.3, the largest number above 88.3.
LACT_INLINE Vec exp(Vec x) {
  x = minimum(maximum(x, splat(-87.33654f)), splat(88.37626f));
  // x = n ln 2 + r. Adding 1.5 · 2^23 rounds to an integer, which then stands in the lowest bits.
  const Vec shifted = x * 1.44269504f + 12582912.f;
  const Vec n = shifted - 12582912.f;
  const Vec r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vec p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.f;
  const Bits power = ((Bits)shifted + 127) << 23;
  return p * (Vec)power;
}

/// 1 / x of a number that is neither tiny nor huge, within an ulp or two.
LACT_INLINE Vec reciprocal(Vec x) {
#if defined(__AVX512F__)
  const Vec guess = (Vec)_mm512_rcp14_ps((__m512)x);
  return guess * (2.f - x * guess);
#else
  return 1.f / x;
#endif
}

LACT_INLINE Vec sigmoid(Vec x) { return reciprocal(1.f + exp(-x)); }

}  // namespace
}  // namespace lact::kernels
