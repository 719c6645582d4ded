// Points, directions and rotations in space, for one ray (Vec3) or four (Vec3x4).
#pragma once

#include "lact/data/views/tracer/lanes.h"

namespace lact::data::tracer {

template <class T>
struct Vec {
  T x, y, z;

  Vec operator-() const { return {-x, -y, -z}; }
  Vec operator+(const Vec& other) const { return {x + other.x, y + other.y, z + other.z}; }
  Vec operator-(const Vec& other) const { return {x - other.x, y - other.y, z - other.z}; }
  Vec operator*(const Vec& other) const { return {x * other.x, y * other.y, z * other.z}; }
  Vec operator*(T factor) const { return {x * factor, y * factor, z * factor}; }
};

using Vec3 = Vec<float>;
using Vec3x4 = Vec<Float4>;

template <class T>
T dot(const Vec<T>& a, const Vec<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

template <class T>
Vec<T> cross(const Vec<T>& a, const Vec<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

template <class T>
T length(const Vec<T>& vector) {
  return root(dot(vector, vector));
}

template <class T>
Vec<T> normalized(const Vec<T>& vector) {
  return vector * (1.0F / length(vector));
}

/// A number taken apart: the largest whole number that is not above it, and the rest in [0, 1). Beyond 10^9
/// the rest is 0. (Without SSE4.1 std::floor is a call, which textures would pay for many times a sample.)
struct Parts {
  int32_t whole;
  float rest;

  explicit Parts(float value) {
    const float limited = lower(higher(value, -1e9F), 1e9F);
    whole = static_cast<int32_t>(limited);
    if (static_cast<float>(whole) > limited) --whole;
    rest = limited - static_cast<float>(whole);
  }
};

inline Vec3 blend(const Vec3& a, const Vec3& b, float share_of_b) { return a + (b - a) * share_of_b; }

inline Vec3x4 splat(const Vec3& vector) { return {splat(vector.x), splat(vector.y), splat(vector.z)}; }
inline Vec3 lane(const Vec3x4& vectors, int index) {
  return {vectors.x[index], vectors.y[index], vectors.z[index]};
}

inline void set_lane(Vec3x4& vectors, int index, const Vec3& vector) {
  vectors.x[index] = vector.x;
  vectors.y[index] = vector.y;
  vectors.z[index] = vector.z;
}

/// Three rows.
struct Mat3 {
  Vec3 x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1};

  Vec3 operator*(const Vec3& vector) const { return {dot(x, vector), dot(y, vector), dot(z, vector)}; }
  Vec3x4 operator*(const Vec3x4& vectors) const {
    return {dot(splat(x), vectors), dot(splat(y), vectors), dot(splat(z), vectors)};
  }
  /// The transposed matrix times a vector: back through a rotation, or a normal through a linear map.
  Vec3 back(const Vec3& vector) const { return x * vector.x + y * vector.y + z * vector.z; }

  Mat3 transposed() const { return {{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}}; }
  Mat3 operator*(const Mat3& other) const {
    const Mat3 columns = other.transposed();
    return {{dot(x, columns.x), dot(x, columns.y), dot(x, columns.z)},
            {dot(y, columns.x), dot(y, columns.y), dot(y, columns.z)},
            {dot(z, columns.x), dot(z, columns.y), dot(z, columns.z)}};
  }
};

struct Ray4 {
  Vec3x4 origin;
  Vec3x4 direction;  ///< of length 1

  Vec3x4 at(Float4 distance) const { return origin + direction * distance; }
};

/// What a ray must beat to count: behind or at its start is no hit, at infinity neither.
constexpr float kNearest = 1e-4F;
constexpr float kNothing = 1e30F;

/// A ball that holds a thing, so that most rays pass it by at little cost.
struct Bounds {
  Vec3 centre{0, 0, 0};
  float radius = kNothing;

  /// Lanes whose ray may meet the ball before `distance`.
  Mask4 met_by(const Ray4& ray, Float4 distance) const {
    const Vec3x4 to_centre = splat(centre) - ray.origin;
    const Float4 along = dot(to_centre, ray.direction);
    const Float4 gap = dot(to_centre, to_centre) - along * along;
    const float reach = radius < kNothing ? radius : 1e15F;
    return (gap <= reach * reach) & (along + reach > 0) & (along - reach < distance);
  }
};

}  // namespace lact::data::tracer
