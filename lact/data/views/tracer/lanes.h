// Four floats side by side: the four samples of a pixel are traced together. GCC and Clang compile the
// vector type to what the processor has (SSE2, NEON).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lact::data::tracer {

using Float4 = float __attribute__((vector_size(16)));
using Mask4 = int32_t __attribute__((vector_size(16)));  ///< a lane is 0 or -1

constexpr int kLanes = 4;

inline Float4 splat(float value) { return Float4{value, value, value, value}; }
inline Mask4 splat_mask(bool value) { return Mask4{} - static_cast<int32_t>(value); }

inline bool any(Mask4 mask) {
  const auto halves = std::bit_cast<std::array<uint64_t, 2>>(mask);
  return (halves[0] | halves[1]) != 0;
}

// The overloads for float let one template serve a single point and four of them. A NaN in `a` gives `b`.
inline float select(bool mask, float a, float b) { return mask ? a : b; }
inline Float4 select(Mask4 mask, Float4 a, Float4 b) { return mask ? a : b; }
inline Mask4 select(Mask4 mask, Mask4 a, Mask4 b) { return mask ? a : b; }

inline float lower(float a, float b) { return a < b ? a : b; }
inline Float4 lower(Float4 a, Float4 b) { return a < b ? a : b; }
inline float higher(float a, float b) { return a > b ? a : b; }
inline Float4 higher(Float4 a, Float4 b) { return a > b ? a : b; }

inline float magnitude(float value) { return std::fabs(value); }
inline Float4 magnitude(Float4 value) { return higher(value, -value); }

inline float root(float value) { return std::sqrt(value); }
inline Float4 root(Float4 value) {
  return Float4{std::sqrt(value[0]), std::sqrt(value[1]), std::sqrt(value[2]), std::sqrt(value[3])};
}

}  // namespace lact::data::tracer
