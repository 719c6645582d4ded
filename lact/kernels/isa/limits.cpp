#include "lact/kernels/limits.h"

#include "lact/kernels/tile_registers.h"

namespace lact::kernels::LACT_ISA {

namespace {

// Enough independent sums to hide the latency of an instruction, few enough to stay in registers.
constexpr int kSums = kLanes == 16 ? 24 : kLanes == 8 ? 12 : 10;
constexpr int kUnrolled = 8;
constexpr int kSinkFloats = 64;

/// Every sum starts at a value of its own: equal ones would be computed once.
LACT_INLINE float first_value(const float* sink, int i) { return sink[i % kSinkFloats] + float(i + 1); }

int64_t f32(int64_t rounds, float* sink) {
  Vec sums[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sums[i] = splat(first_value(sink, i));
  const Vec factor = splat(0.9990234375f), term = splat(1e-3f);  // values stay near 1
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 8
    for (int step = 0; step < kUnrolled; ++step) {
#pragma GCC unroll 32
      for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * factor + term;
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sink[i] = sums[i][0] * 1e-3f;
  return rounds * kUnrolled * kSums * kLanes * 2;
}

#if defined(__AMX_BF16__)
int64_t bf16(int64_t rounds, float* sink) {
  const TilesInUse tiles;
  alignas(64) float sums[kTileSide * kTileSide];
  for (float& sum : sums) sum = first_value(sink, 0);
  _tile_loadd(0, sums, 64);
  _tile_loadd(1, sums, 64);
  _tile_loadd(2, sums, 64);
  _tile_loadd(3, sums, 64);
  uint32_t pairs[kTileSide * kTileSide];
  for (uint32_t& pair : pairs) pair = 0x3a833a83;  // two bfloat16 of 0.001
  _tile_loadd(4, pairs, 64);
  _tile_loadd(5, pairs, 64);
  _tile_loadd(6, pairs, 64);
  _tile_loadd(7, pairs, 64);
  for (int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, 64);
  sink[0] = sums[0] * 1e-3f;
  return rounds * 4 * 2 * kTileSide * kTileSide * 2 * kTileSide;
}
constexpr RegisterLoop kBf16 = bf16;
#elif defined(__AVX512BF16__)
int64_t bf16(int64_t rounds, float* sink) {
  __m512 sums[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sums[i] = (__m512)splat(first_value(sink, i));
  const auto left = (__m512bh)splat_bits(0x3a833a83);  // two bfloat16 of 0.001
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 8
    for (int step = 0; step < kUnrolled; ++step) {
#pragma GCC unroll 32
      for (int i = 0; i < kSums; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], left, left);
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sink[i] = ((Vec)sums[i])[0] * 1e-3f;
  return rounds * kUnrolled * kSums * kLanes * 2 * 2;
}
constexpr RegisterLoop kBf16 = bf16;
#else
constexpr RegisterLoop kBf16 = nullptr;
#endif

#if defined(__AVX512VNNI__)
int64_t int8(int64_t rounds, float* sink) {
  __m512i sums[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_epi32(int(first_value(sink, i)));
  const __m512i left = _mm512_set1_epi32(0x00010100 + int(sink[0])), right = _mm512_set1_epi32(0x01000001);
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 8
    for (int step = 0; step < kUnrolled; ++step) {
#pragma GCC unroll 32
      for (int i = 0; i < kSums; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], left, right);
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sink[i] = float(((Ints)sums[i])[0]) * 1e-9f;
  return rounds * kUnrolled * kSums * kLanes * 4 * 2;
}
constexpr RegisterLoop kInt8 = int8;
#else
constexpr RegisterLoop kInt8 = nullptr;
#endif

constexpr int kStreams = 8;

float read(const float* from, int64_t count) {
  Vec sums[kStreams] = {};
  for (int64_t at = 0; at < count; at += kStreams * kLanes) {
    for (int i = 0; i < kStreams; ++i) sums[i] = sums[i] + load(from + at + i * kLanes);
  }
  Vec total = {};
  for (int i = 0; i < kStreams; ++i) total = total + sums[i];
  return sum(total);
}

void copy(float* to, const float* from, int64_t count) {
  for (int64_t at = 0; at < count; at += kStreams * kLanes) {
    for (int i = 0; i < kStreams; ++i) store(to + at + i * kLanes, load(from + at + i * kLanes));
  }
}

// Two ports, each one vector of multiply-adds per cycle.
constexpr int64_t kMostF32 = 2 * 2 * kLanes;
// A tile register takes 16 cycles.
constexpr int64_t kMostBf16 = kHasTiles ? 1024 : 2 * kMostF32;

}  // namespace

extern const LimitsKernels limits;
const LimitsKernels limits = {f32, kBf16, kInt8, kMostF32, kMostBf16, 4 * kMostF32, read, copy};

}  // namespace lact::kernels::LACT_ISA
