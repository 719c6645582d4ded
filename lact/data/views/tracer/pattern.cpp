#include "lact/data/views/tracer/pattern.h"

#include <cmath>

namespace lact::data::tracer {

namespace {

/// A number in [0, 1) for a corner of the lattice.
float lattice_value(uint32_t x, uint32_t y, uint32_t z, uint32_t seed) {
  uint32_t bits = x * 0x8da6b343U ^ y * 0xd8163841U ^ z * 0xcb1ab31fU ^ seed;
  bits = (bits ^ (bits >> 15)) * 0x2c1b3c6dU;
  bits = (bits ^ (bits >> 12)) * 0x297a2d39U;
  bits ^= bits >> 15;
  return static_cast<float>(bits >> 8) * 0x1p-24F;
}

float smooth(float share) { return share * share * (3 - 2 * share); }

float mixed(float a, float b, float share_of_b) { return a + (b - a) * share_of_b; }

/// A wave of period 1 with flat tops and steep but not sharp flanks, in [0, 1].
float soft_bands(float value) {
  const float triangle = std::fabs(2 * Parts(value).rest - 1);
  return smooth(std::fmin(std::fmax((triangle - 0.5F) * 6 + 0.5F, 0.0F), 1.0F));
}

float fractal_noise(const Vec3& point, uint32_t seed) {
  return (value_noise(point, seed) * 4 + value_noise(point * 2.03F, seed + 1) * 2 +
          value_noise(point * 4.01F, seed + 2)) /
         7;
}

float share_of_second(const Pattern& pattern, const Vec3& point) {
  switch (pattern.kind) {
    case PatternKind::kFlat:
      return 0;
    case PatternKind::kChecker:
      return ((Parts(point.x).whole + Parts(point.y).whole + Parts(point.z).whole) & 1) ? 1.0F : 0.0F;
    case PatternKind::kStripes:
      return soft_bands(point.z);
    case PatternKind::kDots: {
      const Vec3 offset{Parts(point.x).rest - 0.5F, Parts(point.y).rest - 0.5F, Parts(point.z).rest - 0.5F};
      return dot(offset, offset) < 0.16F ? 1.0F : 0.0F;
    }
    case PatternKind::kGradient:
      return smooth(std::fmin(std::fmax(point.z * 0.5F + 0.5F, 0.0F), 1.0F));
    case PatternKind::kClouds: {
      const float noise = fractal_noise(point, pattern.noise_seed);
      return smooth(std::fmin(std::fmax((noise - 0.3F) * 2.5F, 0.0F), 1.0F));
    }
    case PatternKind::kMarble:
      return soft_bands(point.z + 1.5F * fractal_noise(point, pattern.noise_seed));
    case PatternKind::kWood: {
      const float bend = 0.8F * value_noise({point.x, point.y, point.z * 0.3F}, pattern.noise_seed);
      const float ring = std::sqrt(point.x * point.x + point.y * point.y) * 1.5F + bend;
      return Parts(ring).rest;
    }
  }
  return 0;
}

}  // namespace

float value_noise(const Vec3& point, uint32_t seed) {
  const Parts along_x(point.x), along_y(point.y), along_z(point.z);
  const auto x = static_cast<uint32_t>(along_x.whole);
  const auto y = static_cast<uint32_t>(along_y.whole);
  const auto z = static_cast<uint32_t>(along_z.whole);
  const auto row = [&](uint32_t row_y, uint32_t row_z) {
    return mixed(lattice_value(x, row_y, row_z, seed), lattice_value(x + 1, row_y, row_z, seed),
                 smooth(along_x.rest));
  };
  const float front = mixed(row(y, z), row(y + 1, z), smooth(along_y.rest));
  const float back = mixed(row(y, z + 1), row(y + 1, z + 1), smooth(along_y.rest));
  return mixed(front, back, smooth(along_z.rest));
}

Vec3 Pattern::colour(const Vec3& world_point) const {
  if (kind == PatternKind::kFlat) return first;
  return blend(first, second, share_of_second(*this, frame * (world_point - centre)));
}

}  // namespace lact::data::tracer
