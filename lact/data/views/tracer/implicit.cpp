#include "lact/data/views/tracer/implicit.h"

#include <cmath>

namespace lact::data::tracer {

namespace {

constexpr int kMaxSteps = 64;
constexpr float kTouching = 5e-4F;

// With T{} + number a template writes a constant for one point or four.
template <class T>
T torus_distance(const Implicit& torus, const Vec<T>& point) {
  const T ring = root(point.x * point.x + point.y * point.y) - torus.size.x;
  return root(ring * ring + point.z * point.z) - torus.size.y;
}

template <class T>
T rounded_box_distance(const Implicit& box, const Vec<T>& point) {
  const T zero{};
  const Vec<T> beyond{magnitude(point.x) - (box.size.x - box.rounding),
                      magnitude(point.y) - (box.size.y - box.rounding),
                      magnitude(point.z) - (box.size.z - box.rounding)};
  const Vec<T> outside{higher(beyond.x, zero), higher(beyond.y, zero), higher(beyond.z, zero)};
  const T inside = lower(higher(beyond.x, higher(beyond.y, beyond.z)), zero);
  return length(outside) + inside - box.rounding;
}

// min(a, b) - h^2 width / 4 with h = max(1 - |a - b| / width, 0): a union without a crease.
template <class T>
T blob_distance(const Implicit& blob, const Vec<T>& point) {
  T nearest = T{} + kNothing;
  for (int i = 0; i < blob.num_balls; ++i) {
    const Ball& ball = blob.balls[static_cast<size_t>(i)];
    const Vec<T> offset{point.x - ball.centre.x, point.y - ball.centre.y, point.z - ball.centre.z};
    const T next = length(offset) - ball.radius;
    const T overlap = higher(1.0F - magnitude(nearest - next) * (1 / blob.rounding), T{});
    nearest = lower(nearest, next) - overlap * overlap * (blob.rounding / 4);
  }
  return nearest;
}

template <class T>
T shape_distance(const Implicit& implicit, const Vec<T>& point) {
  switch (implicit.shape) {
    case Shape::kTorus:
      return torus_distance(implicit, point);
    case Shape::kRoundedBox:
      return rounded_box_distance(implicit, point);
    case Shape::kBlob:
      return blob_distance(implicit, point);
  }
  return T{};
}

}  // namespace

void Implicit::bound() {
  float radius = 0;
  if (shape == Shape::kTorus) radius = size.x + size.y;
  if (shape == Shape::kRoundedBox) radius = length(size);
  // Every melting adds at most a quarter of the width.
  for (int i = 0; i < num_balls; ++i) {
    const Ball& ball = balls[static_cast<size_t>(i)];
    radius =
        std::fmax(radius, length(ball.centre) + ball.radius + rounding * static_cast<float>(num_balls) / 4);
  }
  bounds = {centre, radius + 2 * kTouching};
}

float Implicit::distance_to(const Vec3& world_point) const {
  return shape_distance(*this, rotation.back(world_point - centre));
}

Vec3 Implicit::normal(const Vec3& world_point) const {
  const Vec3 point = rotation.back(world_point - centre);
  constexpr float kStep = 1e-3F;
  Vec3 gradient{0, 0, 0};
  for (const Vec3& corner : {Vec3{1, -1, -1}, Vec3{-1, -1, 1}, Vec3{-1, 1, -1}, Vec3{1, 1, 1}}) {
    gradient = gradient + corner * shape_distance(*this, point + corner * kStep);
  }
  return normalized(rotation * gradient);
}

Float4 first_hit(const Implicit& implicit, const Ray4& ray, Mask4 active, Float4 limit) {
  const Mat3 to_shape = implicit.rotation.transposed();
  const Vec3x4 start = to_shape * (ray.origin - splat(implicit.centre));
  const Vec3x4 direction = to_shape * ray.direction;
  // Walk from where the ray enters the bounding ball to where it leaves it.
  const Float4 middle = -dot(start, direction);
  const Float4 half_square =
      implicit.bounds.radius * implicit.bounds.radius - (dot(start, start) - middle * middle);
  const Float4 half = root(higher(half_square, splat(0)));
  const Float4 end = lower(middle + half, limit);
  Float4 distance = higher(middle - half, splat(kNearest));
  Float4 result = splat(kNothing);
  Mask4 walking = active & (half_square > 0) & (distance < end);
  for (int step = 0; step < kMaxSteps && any(walking); ++step) {
    const Float4 gap = shape_distance(implicit, start + direction * distance);
    const Mask4 touched = walking & (gap < kTouching);
    result = select(touched, distance, result);
    distance += select(walking, gap, splat(0));
    walking = walking & ~touched & (distance < end);
  }
  return result;
}

}  // namespace lact::data::tracer
