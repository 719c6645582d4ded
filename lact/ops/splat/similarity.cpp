#include "lact/ops/splat/similarity.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/ops/splat/projection.h"

namespace lact::ops {

namespace {

using Rotation = std::array<std::array<double, 3>, 3>;

at::Tensor tensor_of(const Rotation& rotation) {
  at::Tensor rows = at::empty({3, 3}, at::kDouble);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 3; ++j) rows[i][j] = rotation[size_t(i)][size_t(j)];
  return rows;
}

/// w, x, y, z; divided by the largest of the four, which is never near 0.
std::array<double, 4> quaternion_of(const Rotation& r) {
  const std::array<double, 4> squares = {1 + r[0][0] + r[1][1] + r[2][2], 1 + r[0][0] - r[1][1] - r[2][2],
                                         1 - r[0][0] + r[1][1] - r[2][2], 1 - r[0][0] - r[1][1] + r[2][2]};
  const size_t largest = size_t(std::max_element(squares.begin(), squares.end()) - squares.begin());
  const double twice = std::sqrt(squares[largest]);
  const double wx = r[2][1] - r[1][2], wy = r[0][2] - r[2][0], wz = r[1][0] - r[0][1];
  const double xy = r[0][1] + r[1][0], xz = r[0][2] + r[2][0], yz = r[1][2] + r[2][1];
  const std::array<std::array<double, 4>, 4> products = {{{squares[0], wx, wy, wz},
                                                          {wx, squares[1], xy, xz},
                                                          {wy, xy, squares[2], yz},
                                                          {wz, xz, yz, squares[3]}}};
  std::array<double, 4> quaternion{};
  for (size_t i = 0; i < 4; ++i) quaternion[i] = products[largest][i] / (2 * twice);
  return quaternion;
}

/// a b, for rows b [N, 4].
at::Tensor product(const std::array<double, 4>& a, const at::Tensor& b) {
  const auto q = b.unbind(1);
  return at::stack({a[0] * q[0] - a[1] * q[1] - a[2] * q[2] - a[3] * q[3],
                    a[0] * q[1] + a[1] * q[0] + a[2] * q[3] - a[3] * q[2],
                    a[0] * q[2] - a[1] * q[3] + a[2] * q[0] + a[3] * q[1],
                    a[0] * q[3] + a[1] * q[2] - a[2] * q[1] + a[3] * q[0]},
                   1);
}

/// Y_k(d) of directions [S, 3]: [S, K].
at::Tensor basis(const at::Tensor& directions, int64_t degree) {
  const int64_t count = (degree + 1) * (degree + 1);
  const at::Tensor each = at::eye(count, at::kDouble).unsqueeze(2).expand({count, count, 3});
  return reference::spherical_harmonics(directions.unsqueeze(1), each, degree).select(2, 0);
}

/// [K, K]: coefficients of f(Rᵀ d) from those of f. What the functions of a degree span is not left by a
/// rotation, so that more directions than coefficients determine it exactly.
at::Tensor turned_harmonics(const at::Tensor& rotation, int64_t degree) {
  constexpr int64_t kDirections = 64;
  const at::Tensor index = at::arange(kDirections, at::kDouble) + 0.5;
  const at::Tensor height = 1 - 2 * index / kDirections, angle = index * (M_PI * (1 + std::sqrt(5.0)));
  const at::Tensor radius = (1 - height.square()).sqrt();
  const at::Tensor directions = at::stack({radius * angle.cos(), radius * angle.sin(), height}, 1);
  const at::Tensor here = basis(directions, degree), there = basis(at::matmul(directions, rotation), degree);
  return at::linalg_solve(at::matmul(here.t(), here), at::matmul(here.t(), there));
}

}  // namespace

Gaussians moved(const Gaussians& gaussians, const Similarity& similarity) {
  const auto options = gaussians.means.options();
  const at::Tensor rotation = tensor_of(similarity.rotation);
  const auto& shift = similarity.translation;
  const at::Tensor translation = at::tensor({shift[0], shift[1], shift[2]}, at::kDouble);
  Gaussians result = gaussians;
  result.means =
      (similarity.scale * at::matmul(gaussians.means.to(at::kDouble), rotation.t().to(options.device())) +
       translation.to(options.device()))
          .to(options);
  result.quaternions = product(quaternion_of(similarity.rotation), gaussians.quaternions);
  result.log_scales = gaussians.log_scales + std::log(similarity.scale);
  if (gaussians.degree() > 0)
    result.harmonics =
        at::matmul(turned_harmonics(rotation, gaussians.degree()).to(options), gaussians.harmonics);
  return result;
}

}  // namespace lact::ops
