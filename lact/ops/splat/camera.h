// Where a picture of Gaussians is taken from.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace lact::ops {

/// Axes x right, y down, z forward; a point (x, y, z) of the camera's frame is seen at
/// (fx x / z + cx, fy y / z + cy), and the centre of the first pixel is at (0.5, 0.5).
struct SplatCamera {
  int64_t height = 0, width = 0;
  double fx = 0, fy = 0, cx = 0, cy = 0;
  std::array<std::array<double, 4>, 3> world_to_camera{};  ///< rotation | translation

  /// The camera's place in the world.
  std::array<double, 3> centre() const;
};

/// From what models have: intrinsics [4] (fx, fy, cx, cy), camera_to_world [4, 4].
SplatCamera splat_camera(const at::Tensor& intrinsics, const at::Tensor& camera_to_world, int64_t height,
                         int64_t width);

/// How far x / z (first) and y / z (second) may lie outside of the picture in the Jacobian of the projection:
/// the picture and 0.15 of its size on both sides. {lowest x, highest x, lowest y, highest y}
std::array<double, 4> jacobian_limits(const SplatCamera& camera);

/// Throws one sentence for a camera that cannot take a picture.
void check_camera(const SplatCamera& camera);

}  // namespace lact::ops
