// One Gaussian: its opacity before activation, and its covariance as a product, Σ = M Mᵀ, M = R(q) diag(eˢ).
#pragma once

#include <array>
#include <cmath>

namespace lact::tasks::nvs {

/// What the sigmoid makes this opacity of.
inline double opacity_logit(double opacity) { return std::log(opacity / (1 - opacity)); }

using Matrix3 = std::array<std::array<double, 3>, 3>;

/// `quaternion` w, x, y, z of any length but zero.
inline Matrix3 spread_of(const float* quaternion, const float* log_scales) {
  double w = quaternion[0], x = quaternion[1], y = quaternion[2], z = quaternion[3];
  const double length = std::sqrt(w * w + x * x + y * y + z * z);
  w /= length, x /= length, y /= length, z /= length;
  Matrix3 spread = {{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                     {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                     {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
  for (auto& row : spread)
    for (size_t axis = 0; axis < 3; ++axis) row[axis] *= std::exp(double(log_scales[axis]));
  return spread;
}

/// M v
inline std::array<double, 3> times(const Matrix3& m, const std::array<double, 3>& v) {
  std::array<double, 3> result{};
  for (size_t row = 0; row < 3; ++row)
    for (size_t axis = 0; axis < 3; ++axis) result[row] += m[row][axis] * v[axis];
  return result;
}

/// Mᵀ v
inline std::array<double, 3> transposed_times(const Matrix3& m, const std::array<double, 3>& v) {
  std::array<double, 3> result{};
  for (size_t row = 0; row < 3; ++row)
    for (size_t axis = 0; axis < 3; ++axis) result[axis] += m[row][axis] * v[row];
  return result;
}

}  // namespace lact::tasks::nvs
