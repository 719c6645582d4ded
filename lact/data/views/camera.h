// A pinhole camera and what is seen through it.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lact::data {

/// Axes as in OpenCV: x to the right, y down, z forward. A point (X, Y, Z) of the camera's frame is seen at
/// u = fx X / Z + cx, v = fy Y / Z + cy; the centre of the first pixel is at (0.5, 0.5).
struct Camera {
  int64_t width = 0;
  int64_t height = 0;
  double fx = 0, fy = 0, cx = 0, cy = 0;
  std::array<std::array<double, 4>, 4> camera_to_world{};  ///< rows; the last one is 0 0 0 1
};

/// Views of one scene: a camera and a picture each.
struct PosedImages {
  std::vector<Camera> cameras;
  std::vector<at::Tensor> images;  ///< float32 [3, H, W] in [0, 1], on white where a picture was transparent
};

/// [V, 4]: fx, fy, cx, cy, and [V, 4, 4]: camera to world. Float32, as ops and models take them.
at::Tensor intrinsics_of(const std::vector<Camera>& cameras);
at::Tensor camera_to_world_of(const std::vector<Camera>& cameras);

}  // namespace lact::data
