#include "lact/ops/images/rays.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"

namespace lact::ops {

namespace {

void check_cameras(const at::Tensor& intrinsics, const at::Tensor& camera_to_world) {
  LACT_CHECK(intrinsics.dim() >= 1 && intrinsics.size(-1) == 4,
             "[rays] the intrinsics have shape {}, expected [..., 4]", intrinsics.sizes().vec());
  auto expected = intrinsics.sizes().vec();
  expected.push_back(4);
  LACT_CHECK(camera_to_world.sizes() == expected, "[rays] camera_to_world has shape {}, expected {}",
             camera_to_world.sizes().vec(), expected);
  LACT_CHECK(intrinsics.is_floating_point() && camera_to_world.scalar_type() == intrinsics.scalar_type(),
             "[rays] the intrinsics are {} and camera_to_world is {}, expected one floating point type",
             toString(intrinsics.scalar_type()), toString(camera_to_world.scalar_type()));
}

/// (0.5, 1.5, ... - centre) / focal: [..., count]
at::Tensor pixel_slopes(int64_t count, const at::Tensor& centre, const at::Tensor& focal) {
  return (at::arange(count, centre.options()) + 0.5 - centre.unsqueeze(-1)) / focal.unsqueeze(-1);
}

}  // namespace

at::Tensor plucker_rays(const at::Tensor& intrinsics, const at::Tensor& camera_to_world, int64_t height,
                        int64_t width) {
  check_cameras(intrinsics, camera_to_world);
  LACT_CHECK(height > 0 && width > 0, "[rays] a picture of {} x {} pixels, expected at least 1 x 1", height,
             width);
  const auto number = [&](int64_t index) { return intrinsics.select(-1, index); };
  auto plane = number(0).sizes().vec();
  plane.insert(plane.end(), {height, width});
  const at::Tensor x = pixel_slopes(width, number(2), number(0)).unsqueeze(-2).expand(plane);
  const at::Tensor y = pixel_slopes(height, number(3), number(1)).unsqueeze(-1).expand(plane);
  const at::Tensor pixels = at::stack({x, y, at::ones_like(x)}, -3).flatten(-2);  // [..., 3, H W]

  const at::Tensor rotation = camera_to_world.narrow(-2, 0, 3).narrow(-1, 0, 3);
  const auto slopes = at::matmul(rotation, pixels).unbind(-2);
  const at::Tensor length = (slopes[0].square() + slopes[1].square() + slopes[2].square()).sqrt();
  const at::Tensor place = camera_to_world.narrow(-2, 0, 3).select(-1, 3).unsqueeze(-1);
  at::Tensor origin[3], direction[3];
  for (int64_t axis = 0; axis < 3; ++axis) {
    origin[axis] = place.select(-2, axis).expand_as(length);
    direction[axis] = slopes[size_t(axis)] / length;
  }
  // o × d, by its components: LibTorch's cross product of planes is an order of magnitude slower.
  const auto moment = [&](int a, int b) { return origin[a] * direction[b] - origin[b] * direction[a]; };
  return at::stack({origin[0], origin[1], origin[2], direction[0], direction[1], direction[2], moment(1, 2),
                    moment(2, 0), moment(0, 1)},
                   -2)
      .unflatten(-1, {height, width});
}

at::Tensor ray_point_waves(const at::Tensor& rays, int64_t points, int64_t octaves, double reach) {
  LACT_CHECK(rays.dim() >= 1 && rays.size(-1) == 9, "[rays] the rays have shape {}, expected [..., 9]",
             rays.sizes().vec());
  LACT_CHECK(points > 0 && octaves > 0, "[rays] {} points of {} octaves, expected at least 1 of 1", points,
             octaves);
  const at::Tensor direction = rays.narrow(-1, 3, 3), moment = rays.narrow(-1, 6, 3);
  const auto d = direction.unbind(-1), m = moment.unbind(-1);
  const at::Tensor nearest =
      at::stack({d[1] * m[2] - d[2] * m[1], d[2] * m[0] - d[0] * m[2], d[0] * m[1] - d[1] * m[0]}, -1);
  // A single point is the nearest itself.
  const at::Tensor t =
      points > 1 ? at::linspace(-reach, reach, points, rays.options()) : at::zeros({1}, rays.options());
  const at::Tensor places = nearest.unsqueeze(-2) + t.unsqueeze(-1) * direction.unsqueeze(-2);
  const at::Tensor frequencies = at::exp2(at::arange(octaves, rays.options())) * M_PI;
  const at::Tensor angles = (places.unsqueeze(-1) * frequencies).flatten(-3);
  return at::cat({angles.sin(), angles.cos()}, -1);
}

}  // namespace lact::ops
