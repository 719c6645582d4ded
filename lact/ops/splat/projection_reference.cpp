#include <ATen/ATen.h>

#include "lact/ops/splat/projection.h"

namespace lact::ops::reference {

namespace {

/// Vectors of length 1; zeros stay what they are.
at::Tensor normalised(const at::Tensor& x) {
  const at::Tensor length = x.norm(2, -1, true);
  return x / at::where(length.gt(0), length, at::ones_like(length));
}

/// Rotations of quaternions w, x, y, z: [N, 3, 3]. Zeros turn nothing.
at::Tensor rotations(const at::Tensor& quaternions) {
  const auto q = normalised(quaternions).unbind(1);
  const auto &w = q[0], &x = q[1], &y = q[2], &z = q[3];
  return at::stack({1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),  //
                    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),  //
                    2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)},
                   1)
      .unflatten(1, {3, 3});
}

struct CameraTensors {
  at::Tensor rotation, translation, centre;
};
CameraTensors tensors_of(const SplatCamera& camera, const at::TensorOptions& options) {
  std::vector<double> numbers;
  for (const auto& row : camera.world_to_camera) numbers.insert(numbers.end(), row.begin(), row.end());
  const at::Tensor pose = at::tensor(numbers, at::kDouble).reshape({3, 4}).to(options);
  const auto place = camera.centre();
  return {pose.narrow(1, 0, 3), pose.select(1, 3),
          at::tensor({place[0], place[1], place[2]}, at::kDouble).to(options)};
}

}  // namespace

Projection project(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options) {
  const CameraTensors view = tensors_of(camera, gaussians.means.options());
  const at::Tensor places = at::matmul(gaussians.means, view.rotation.t()) + view.translation;
  const at::Tensor depths = places.select(1, 2);
  const at::Tensor inside = depths.gt(options.near).logical_and(depths.lt(options.far));
  // Behind the camera nothing is to be divided by.
  const at::Tensor z = at::where(inside, depths, at::ones_like(depths));
  const at::Tensor x = places.select(1, 0) / z, y = places.select(1, 1) / z;
  at::Tensor means = at::stack({camera.fx * x + camera.cx, camera.fy * y + camera.cy}, 1);

  const at::Tensor spread = rotations(gaussians.quaternions) * gaussians.log_scales.exp().unsqueeze(1);
  const at::Tensor turned = at::matmul(view.rotation, spread);  // R M, of which R Σ Rᵀ is the square
  const auto limits = jacobian_limits(camera);
  const at::Tensor zero = at::zeros_like(z);
  const at::Tensor jacobian =
      at::stack({camera.fx / z, zero, -camera.fx * x.clamp(limits[0], limits[1]) / z,  //
                 zero, camera.fy / z, -camera.fy * y.clamp(limits[2], limits[3]) / z},
                1)
          .unflatten(1, {2, 3});
  const at::Tensor rows = at::matmul(jacobian, turned);
  const at::Tensor covariance = at::matmul(rows, rows.transpose(1, 2));
  const at::Tensor a = covariance.select(1, 0).select(1, 0) + options.blur;
  const at::Tensor b = covariance.select(1, 0).select(1, 1);
  const at::Tensor c = covariance.select(1, 1).select(1, 1) + options.blur;
  // a c - b² without taking the difference of large numbers: |r₀ × r₁|² + blur (|r₀|² + |r₁|² + blur)
  const at::Tensor area = at::linalg_cross(rows.select(1, 0), rows.select(1, 1), 1).square().sum(1);
  const at::Tensor determinant = area + options.blur * (a + c - options.blur);

  const at::Tensor extent = (kRadiusInDeviations * at::stack({a, c}, 1).detach().sqrt()).ceil();
  const at::Tensor size = at::tensor({double(camera.width), double(camera.height)}, means.options());
  const at::Tensor seen = inside.logical_and((means + extent).gt(0).all(1))
                              .logical_and((means - extent).lt(size).all(1))
                              .logical_and(determinant.gt(0).logical_and(at::isfinite(determinant)));
  const auto where_seen = [&](const at::Tensor& value) {
    const at::Tensor mask = value.dim() == 2 ? seen.unsqueeze(1) : seen;
    return at::where(mask, value, at::zeros_like(value));
  };
  const at::Tensor divisor = at::where(seen, determinant, at::ones_like(determinant));
  return {where_seen(means), where_seen(depths),
          where_seen(at::stack({c / divisor, -b / divisor, a / divisor}, 1)),
          where_seen(extent).to(at::kLong)};
}

at::Tensor spherical_harmonics(const at::Tensor& directions, const at::Tensor& coefficients, int64_t degree) {
  const auto d = normalised(directions).unbind(-1);
  const auto &x = d[0], &y = d[1], &z = d[2];
  std::vector<at::Tensor> basis = {at::full_like(x, 0.28209479177387814)};
  if (degree > 0) {
    const double c = 0.4886025119029199;
    basis.insert(basis.end(), {-c * y, c * z, -c * x});
  }
  const at::Tensor xx = x * x, yy = y * y, zz = z * z;
  if (degree > 1)
    basis.insert(basis.end(), {1.0925484305920792 * x * y, -1.0925484305920792 * y * z,
                               0.31539156525252005 * (2 * zz - xx - yy), -1.0925484305920792 * x * z,
                               0.5462742152960396 * (xx - yy)});
  if (degree > 2)
    basis.insert(basis.end(), {-0.5900435899266435 * y * (3 * xx - yy), 2.890611442640554 * x * y * z,
                               -0.4570457994644658 * y * (4 * zz - xx - yy),
                               0.3731763325901154 * z * (2 * zz - 3 * xx - 3 * yy),
                               -0.4570457994644658 * x * (4 * zz - xx - yy),
                               1.445305721320277 * z * (xx - yy), -0.5900435899266435 * x * (xx - 3 * yy)});
  const at::Tensor values = at::stack(basis, -1).unsqueeze(-1);  // [..., N, (degree + 1)², 1]
  return (values * coefficients.narrow(1, 0, values.size(-2))).sum(-2);
}

at::Tensor colours(const Gaussians& gaussians, const SplatCamera& camera, int64_t degree) {
  const at::Tensor directions = gaussians.means - tensors_of(camera, gaussians.means.options()).centre;
  return (spherical_harmonics(directions, gaussians.harmonics, degree) + 0.5).clamp_min(0);
}

}  // namespace lact::ops::reference
