#include "lact/data/views/camera.h"

#include <ATen/ATen.h>

namespace lact::data {

at::Tensor intrinsics_of(const std::vector<Camera>& cameras) {
  std::vector<double> values;
  for (const Camera& camera : cameras)
    values.insert(values.end(), {camera.fx, camera.fy, camera.cx, camera.cy});
  return at::tensor(values, at::kDouble).reshape({int64_t(cameras.size()), 4}).to(at::kFloat);
}

at::Tensor camera_to_world_of(const std::vector<Camera>& cameras) {
  std::vector<double> values;
  for (const Camera& camera : cameras)
    for (const auto& row : camera.camera_to_world) values.insert(values.end(), row.begin(), row.end());
  return at::tensor(values, at::kDouble).reshape({int64_t(cameras.size()), 4, 4}).to(at::kFloat);
}

}  // namespace lact::data
