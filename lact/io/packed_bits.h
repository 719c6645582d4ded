// Numbers as few bits, as SuperSplat packs Gaussians (packed_gaussians.h).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace lact::io::packed {

inline constexpr int64_t kChunk = 256;
inline constexpr double kFirstHarmonic = 0.28209479177387814, kLargestLogit = 40;

inline constexpr std::array<const char*, 4> kPackedNames = {"packed_position", "packed_rotation",
                                                            "packed_scale", "packed_color"};
inline constexpr std::array<const char*, 18> kBoundNames = {
    "min_x",       "min_y",       "min_z",       "max_x",       "max_y",       "max_z",
    "min_scale_x", "min_scale_y", "min_scale_z", "max_scale_x", "max_scale_y", "max_scale_z",
    "min_r",       "min_g",       "min_b",       "max_r",       "max_g",       "max_b"};

using Triple = std::array<double, 3>;
struct Bounds {
  Triple low, high;
};

/// Of one chunk: places, log scales and colours.
using ChunkBounds = std::array<Bounds, 3>;

inline double share_of_bits(uint32_t packed, int shift, int bits) {
  const uint32_t most = (1U << bits) - 1;
  return double(packed >> shift & most) / most;
}
inline uint32_t bits_of_share(double share, int bits) {
  const double most = double((1U << bits) - 1);
  return uint32_t(std::floor(std::clamp(share, 0.0, 1.0) * most + 0.5));
}

/// 11, 10 and 11 bits.
inline Triple unpack_triple(uint32_t packed) {
  return {share_of_bits(packed, 21, 11), share_of_bits(packed, 11, 10), share_of_bits(packed, 0, 11)};
}
inline uint32_t pack_triple(const Triple& shares) {
  return bits_of_share(shares[0], 11) << 21 | bits_of_share(shares[1], 10) << 11 |
         bits_of_share(shares[2], 11);
}

inline std::array<double, 4> unpack_rotation(uint32_t packed) {
  const size_t largest = packed >> 30;
  std::array<double, 4> rotation{};
  double rest = 1;
  int shift = 20;
  for (size_t i = 0; i < 4; ++i) {
    if (i == largest) continue;
    rotation[i] = (share_of_bits(packed, shift, 10) - 0.5) * std::numbers::sqrt2;
    rest -= rotation[i] * rotation[i];
    shift -= 10;
  }
  rotation[largest] = std::sqrt(std::max(rest, 0.0));
  return rotation;
}
inline uint32_t pack_rotation(const float* rotation) {
  double squares = 0;
  size_t largest = 0;
  for (size_t i = 0; i < 4; ++i) {
    squares += double(rotation[i]) * rotation[i];
    if (std::fabs(rotation[i]) > std::fabs(rotation[largest])) largest = i;
  }
  // -q is the same rotation as q: the largest is made positive, as it is not stored.
  const double scale = (rotation[largest] < 0 ? -1 : 1) / std::sqrt(squares);
  auto packed = uint32_t(largest);
  for (size_t i = 0; i < 4; ++i)
    if (i != largest)
      packed = packed << 10 | bits_of_share(rotation[i] * scale / std::numbers::sqrt2 + 0.5, 10);
  return packed;
}

inline double unpack_harmonic(uint8_t byte) {
  const double share = byte == 0 ? 0 : byte == 255 ? 1 : (byte + 0.5) / 256;
  return (share - 0.5) * 8;
}
inline uint8_t pack_harmonic(double value) {
  return uint8_t(std::clamp(std::floor((value / 8 + 0.5) * 256), 0.0, 255.0));
}

inline double within(const Bounds& bounds, size_t axis, double share) {
  return bounds.low[axis] * (1 - share) + bounds.high[axis] * share;
}
inline double share_within(const Bounds& bounds, size_t axis, double value) {
  const double range = bounds.high[axis] - bounds.low[axis];
  return range > 0 ? (value - bounds.low[axis]) / range : 0;
}

}  // namespace lact::io::packed
