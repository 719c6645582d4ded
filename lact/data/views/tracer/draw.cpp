#include "lact/data/views/tracer/draw.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lact::data::tracer {

Vec3 Draw::in_ball() {
  while (true) {
    const Vec3 point{between(-1, 1), between(-1, 1), between(-1, 1)};
    if (dot(point, point) <= 1) return point;
  }
}

Vec3 Draw::direction() {
  while (true) {
    const Vec3 point = in_ball();
    if (dot(point, point) > 1e-4F) return normalized(point);
  }
}

Mat3 Draw::rotation() {
  const Vec3 first = direction();
  while (true) {
    const Vec3 across = cross(first, direction());
    if (dot(across, across) < 1e-4F) continue;
    const Vec3 second = normalized(across);
    return Mat3{first, second, cross(first, second)};
  }
}

Mat3 Draw::rotation_about_z() {
  while (true) {
    const Vec3 point{between(-1, 1), between(-1, 1), 0};
    const float square = dot(point, point);
    if (square > 1 || square < 1e-4F) continue;
    const Vec3 along = normalized(point);
    return {{along.x, -along.y, 0}, {along.y, along.x, 0}, {0, 0, 1}};
  }
}

Vec3 Draw::colour() {
  // A hue on the colour wheel, then towards grey and towards black.
  const float hue = between(0, 6);
  const auto wheel = [&](float centre) {
    const float apart = std::fabs(hue - centre);
    return std::clamp(2 - std::fmin(apart, 6 - apart), 0.0F, 1.0F);
  };
  const Vec3 vivid{wheel(0), wheel(2), wheel(4)};
  const float saturation = chance(0.2) ? between(0, 0.2) : between(0.3, 1);
  const float value = between(0.35, 1);
  return blend({1, 1, 1}, vivid, saturation) * value;
}

Vec3 Draw::colour_unlike(const Vec3& other) {
  while (true) {
    const Vec3 result = colour();
    const Vec3 apart = result - other;
    if (dot(apart, apart) > 0.15F) return result;
  }
}

Vec3 Draw::tinged(float strength, double tinge) {
  return Vec3{between(1 - tinge, 1 + tinge), between(1 - tinge, 1 + tinge), between(1 - tinge, 1 + tinge)} *
         strength;
}

}  // namespace lact::data::tracer
