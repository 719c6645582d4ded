#include "lact/data/views/pose.h"

#include <cmath>

#include "lact/base/error.h"

namespace lact::data {

namespace {

constexpr double kRotationTolerance = 1e-2;
constexpr double kFarthest = 1e9;  // float32 squares it and more without overflow

double determinant(const Pose& m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
         m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

}  // namespace

Pose identity_pose() {
  Pose pose{};
  for (int i = 0; i < 4; ++i) pose[i][i] = 1;
  return pose;
}

Pose multiply(const Pose& a, const Pose& b) {
  Pose product{};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int k = 0; k < 4; ++k) product[i][j] += a[i][k] * b[k][j];
  return product;
}

Pose inverse(const Pose& pose) {
  const double scale = 1 / determinant(pose);
  Pose result = identity_pose();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
      result[i][j] = scale * (pose[a][c] * pose[b][d] - pose[a][d] * pose[b][c]);
    }
  }
  for (int i = 0; i < 3; ++i) {
    result[i][3] = 0;
    for (int j = 0; j < 3; ++j) result[i][3] -= result[i][j] * pose[j][3];
  }
  return result;
}

Point column(const Pose& pose, int index) { return {pose[0][index], pose[1][index], pose[2][index]}; }

void set_column(Pose& pose, int index, const Point& value) {
  for (int i = 0; i < 3; ++i) pose[i][index] = value[i];
}

double dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
double length(const Point& a) { return std::sqrt(dot(a, a)); }
Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Point scaled(const Point& a, double factor) { return {a[0] * factor, a[1] * factor, a[2] * factor}; }
Point sum(const Point& a, const Point& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Point difference(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

void check_pose(const Pose& pose, const std::string& where) {
  for (const auto& row : pose)
    for (const double value : row)
      LACT_CHECK(std::isfinite(value), "{} holds {}, expected finite numbers", where, value);
  const std::array<double, 4> last = {0, 0, 0, 1};
  for (int j = 0; j < 4; ++j)
    LACT_CHECK(std::abs(pose[3][j] - last[j]) < 1e-6, "{} has the last row {}, expected 0 0 0 1", where,
               fmt::join(pose[3], " "));
  for (int i = 0; i < 3; ++i) {
    for (int j = i; j < 3; ++j) {
      const double product = dot(column(pose, i), column(pose, j));
      LACT_CHECK(std::abs(product - (i == j)) < kRotationTolerance,
                 "{} is not a rotation and a position: the product of axes {} and {} is {:.4g}, expected {}",
                 where, i, j, product, i == j ? 1 : 0);
    }
  }
  for (int i = 0; i < 3; ++i)
    LACT_CHECK(std::abs(pose[i][3]) <= kFarthest,
               "{} has the position {:.4g}, expected coordinates within {:g}", where,
               fmt::join(column(pose, 3), " "), kFarthest);
  LACT_CHECK(determinant(pose) > 0, "{} mirrors the scene, expected a rotation (determinant 1, not -1)",
             where);
}

Pose look_at(const Point& position, const Point& target, const Point& up) {
  const Point forward = difference(target, position);
  const double distance = length(forward);
  const Point right = cross(forward, up);
  LACT_CHECK(std::isfinite(distance) && length(right) > 1e-9 * distance * length(up),
             "a camera cannot look from {} to {} with {} upwards", position, target, up);
  Pose pose = identity_pose();
  const Point x = scaled(right, 1 / length(right)), z = scaled(forward, 1 / distance);
  set_column(pose, 0, x);
  set_column(pose, 1, cross(z, x));
  set_column(pose, 2, z);
  set_column(pose, 3, position);
  return pose;
}

Pose with_y_and_z_flipped(const Pose& camera_to_world) {
  Pose result = camera_to_world;
  for (int axis : {1, 2}) set_column(result, axis, scaled(column(camera_to_world, axis), -1));
  return result;
}

}  // namespace lact::data
