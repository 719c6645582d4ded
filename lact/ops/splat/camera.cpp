#include "lact/ops/splat/camera.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"

namespace lact::ops {

std::array<double, 3> SplatCamera::centre() const {
  std::array<double, 3> place{};  // -Rᵀ t
  for (int axis = 0; axis < 3; ++axis)
    for (int row = 0; row < 3; ++row) place[axis] -= world_to_camera[row][axis] * world_to_camera[row][3];
  return place;
}

SplatCamera splat_camera(const at::Tensor& intrinsics, const at::Tensor& camera_to_world, int64_t height,
                         int64_t width) {
  LACT_CHECK(intrinsics.sizes() == at::IntArrayRef({4}), "[splat] intrinsics have shape {}, expected [4]",
             intrinsics.sizes().vec());
  LACT_CHECK(camera_to_world.sizes() == at::IntArrayRef({4, 4}),
             "[splat] camera_to_world has shape {}, expected [4, 4]", camera_to_world.sizes().vec());
  const at::Tensor numbers = intrinsics.to(at::kCPU, at::kDouble).contiguous();
  const at::Tensor pose = camera_to_world.to(at::kCPU, at::kDouble).contiguous();
  const auto number = numbers.accessor<double, 1>();
  const auto place = pose.accessor<double, 2>();
  SplatCamera camera = {height, width, number[0], number[1], number[2], number[3]};
  for (int row = 0; row < 3; ++row) {
    for (int axis = 0; axis < 3; ++axis) {
      camera.world_to_camera[row][axis] = place[axis][row];
      camera.world_to_camera[row][3] -= place[axis][row] * place[axis][3];
    }
  }
  return camera;
}

std::array<double, 4> jacobian_limits(const SplatCamera& camera) {
  const double beyond_x = 0.15 * double(camera.width) / camera.fx;
  const double beyond_y = 0.15 * double(camera.height) / camera.fy;
  return {-camera.cx / camera.fx - beyond_x, (double(camera.width) - camera.cx) / camera.fx + beyond_x,
          -camera.cy / camera.fy - beyond_y, (double(camera.height) - camera.cy) / camera.fy + beyond_y};
}

void check_camera(const SplatCamera& camera) {
  LACT_CHECK(camera.height > 0 && camera.width > 0 && camera.height <= 32768 && camera.width <= 32768,
             "[splat] a picture of {} x {} pixels, expected 1 x 1 to 32768 x 32768", camera.height,
             camera.width);
  LACT_CHECK(camera.fx > 0 && camera.fy > 0, "[splat] focal lengths are {} and {}, expected positive ones",
             camera.fx, camera.fy);
  bool finite = std::isfinite(camera.fx) && std::isfinite(camera.fy) && std::isfinite(camera.cx) &&
                std::isfinite(camera.cy);
  for (const auto& row : camera.world_to_camera)
    for (double value : row) finite = finite && std::isfinite(value);
  LACT_CHECK(finite, "[splat] the camera holds a number that is not finite");
}

}  // namespace lact::ops
