// Vectors of float32 or float64 under one name, for kernels that are written once for both. Only files of
// kernels/isa/ include this one.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <initializer_list>
#include <type_traits>

#include "lact/kernels/simd.h"

namespace lact::kernels {
namespace {

typedef double DoubleVec __attribute__((vector_size(4 * kLanes)));
typedef int64_t DoubleInts __attribute__((vector_size(4 * kLanes)));
typedef double DoubleVecAnywhere __attribute__((vector_size(4 * kLanes), aligned(2), may_alias));

template <class Number>
struct LanesOf;
template <>
struct LanesOf<float> {
  using Vector = Vec;
  using Mask = Ints;  ///< all bits of a lane or none, as comparisons give them
  static constexpr int kCount = kLanes;
};
template <>
struct LanesOf<double> {
  using Vector = DoubleVec;
  using Mask = DoubleInts;
  static constexpr int kCount = kLanes / 2;
};

LACT_INLINE DoubleVec load(const double* from) { return *reinterpret_cast<const DoubleVecAnywhere*>(from); }
LACT_INLINE void store(double* to, DoubleVec value) { *reinterpret_cast<DoubleVecAnywhere*>(to) = value; }
LACT_INLINE DoubleVec select(DoubleInts where, DoubleVec yes, DoubleVec no) { return where ? yes : no; }
LACT_INLINE DoubleVec maximum(DoubleVec a, DoubleVec b) { return select(a > b, a, b); }
LACT_INLINE DoubleVec minimum(DoubleVec a, DoubleVec b) { return select(a < b, a, b); }

LACT_INLINE double sum(DoubleVec x) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_pd((__m512d)x);
#else
  double total = 0;
  for (int i = 0; i < kLanes / 2; ++i) total += x[i];
  return total;
#endif
}

/// Whether a lane of a mask is set.
template <class Mask>
LACT_INLINE bool any(Mask mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#elif defined(__SSE2__)
  return _mm_movemask_epi8((__m128i)mask) != 0;
#else
  bool found = false;
  for (int i = 0; i < int(sizeof(mask) / sizeof(mask[0])); ++i) found |= mask[i] != 0;
  return found;
#endif
}

/// Some of the lanes: a mask register where there are such, what comparisons give elsewhere.
template <class Number>
struct LaneSet {
#if defined(__AVX512F__)
  using Bits = std::conditional_t<sizeof(Number) == 4, __mmask16, __mmask8>;
  LACT_INLINE bool empty() const { return bits == 0; }
  LACT_INLINE bool has(int lane) const { return (bits >> lane & 1) != 0; }
#else
  using Bits = typename LanesOf<Number>::Mask;
  LACT_INLINE bool empty() const { return !any(bits); }
  LACT_INLINE bool has(int lane) const { return bits[lane] != 0; }
#endif
  LACT_INLINE LaneSet operator&(LaneSet other) const { return {Bits(bits & other.bits)}; }
  LACT_INLINE LaneSet without(LaneSet other) const { return {Bits(bits & ~other.bits)}; }
  Bits bits;
};

/// a <= b, a > b, and values of the lanes of a set with others or zeros elsewhere.
#if defined(__AVX512F__)
LACT_INLINE LaneSet<float> at_most(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ)};
}
LACT_INLINE LaneSet<double> at_most(DoubleVec a, DoubleVec b) {
  return {_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ)};
}
LACT_INLINE LaneSet<float> above(Vec a, Vec b) {
  return {_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ)};
}
LACT_INLINE LaneSet<double> above(DoubleVec a, DoubleVec b) {
  return {_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ)};
}
LACT_INLINE LaneSet<float> above(Ints a, Ints b) { return {_mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b)}; }
LACT_INLINE LaneSet<double> above(DoubleInts a, DoubleInts b) {
  return {_mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b)};
}
LACT_INLINE Vec select(LaneSet<float> where, Vec yes, Vec no) {
  return (Vec)_mm512_mask_blend_ps(where.bits, (__m512)no, (__m512)yes);
}
LACT_INLINE DoubleVec select(LaneSet<double> where, DoubleVec yes, DoubleVec no) {
  return (DoubleVec)_mm512_mask_blend_pd(where.bits, (__m512d)no, (__m512d)yes);
}
#else
LACT_INLINE LaneSet<float> at_most(Vec a, Vec b) { return {a <= b}; }
LACT_INLINE LaneSet<double> at_most(DoubleVec a, DoubleVec b) { return {a <= b}; }
LACT_INLINE LaneSet<float> above(Vec a, Vec b) { return {a > b}; }
LACT_INLINE LaneSet<double> above(DoubleVec a, DoubleVec b) { return {a > b}; }
LACT_INLINE LaneSet<float> above(Ints a, Ints b) { return {a > b}; }
LACT_INLINE LaneSet<double> above(DoubleInts a, DoubleInts b) { return {a > b}; }
LACT_INLINE Vec select(LaneSet<float> where, Vec yes, Vec no) { return select(where.bits, yes, no); }
LACT_INLINE DoubleVec select(LaneSet<double> where, DoubleVec yes, DoubleVec no) {
  return select(where.bits, yes, no);
}
#endif

LACT_INLINE Vec square_root(Vec x) {
#if defined(__AVX512F__)
  return (Vec)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
  return (Vec)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (Vec)_mm_sqrt_ps((__m128)x);
#else
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}
LACT_INLINE DoubleVec square_root(DoubleVec x) {
#if defined(__AVX512F__)
  return (DoubleVec)_mm512_sqrt_pd((__m512d)x);
#elif defined(__AVX2__)
  return (DoubleVec)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__)
  return (DoubleVec)_mm_sqrt_pd((__m128d)x);
#else
  for (int i = 0; i < kLanes / 2; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

/// e^x within 2 units in the last place; the smallest and the largest power of 2 that are normal bound it.
LACT_INLINE DoubleVec exp(DoubleVec x) {
  x = minimum(maximum(x, -708.0 - DoubleVec{}), 709.0 - DoubleVec{});
  // x = n ln 2 + r. Adding 1.5 · 2^52 rounds to an integer, which then stands in the lowest bits.
  const DoubleVec shifted = x * 1.4426950408889634 + 6755399441055744.0;
  const DoubleVec n = shifted - 6755399441055744.0;
  const DoubleVec r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  DoubleVec p = 1.0 / 6227020800 - DoubleVec{};  // Taylor, to r^13 / 13!
  for (const double factor : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                              1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    p = p * r + factor;
  return p * (DoubleVec)(((DoubleInts)shifted + 1023) << 52);
}

}  // namespace
}  // namespace lact::kernels
