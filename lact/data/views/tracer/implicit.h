// Round shapes given by their distance function, found by walking along the ray.
#pragma once

#include <array>

#include "lact/data/views/tracer/vec.h"

namespace lact::data::tracer {

enum class Shape {
  kTorus,       ///< size.x radius of the ring, size.y of its tube, around z
  kRoundedBox,  ///< size half the sides, `rounding` off the edges
  kBlob,        ///< balls melted into one another over a width of `rounding`
};

struct Ball {
  Vec3 centre{0, 0, 0};
  float radius = 0;
};

struct Implicit {
  static constexpr int kMaxBalls = 4;

  Shape shape = Shape::kTorus;
  Mat3 rotation;  ///< shape -> world
  Vec3 centre{0, 0, 0};
  Vec3 size{1, 1, 1};
  float rounding = 0;
  int num_balls = 0;
  std::array<Ball, kMaxBalls> balls{};
  Bounds bounds;
  int material = 0;

  /// Sets `bounds` from everything else.
  void bound();
  float distance_to(const Vec3& world_point) const;
  Vec3 normal(const Vec3& world_point) const;
};

/// Distances along the rays of `active` lanes below `limit`; kNothing where a ray misses.
Float4 first_hit(const Implicit& implicit, const Ray4& ray, Mask4 active, Float4 limit);

}  // namespace lact::data::tracer
