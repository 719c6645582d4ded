#include "lact/tasks/nvs/splatting/photos.h"

#include <ATen/ATen.h>

namespace lact::tasks::nvs {

ops::SplatCamera splat_camera(const data::Camera& camera) {
  const data::Pose pose = data::inverse(camera.camera_to_world);
  ops::SplatCamera result = {camera.height, camera.width, camera.fx, camera.fy, camera.cx, camera.cy};
  for (size_t row = 0; row < 3; ++row) result.world_to_camera[row] = pose[row];
  return result;
}

at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const data::Camera& camera,
                          const std::vector<double>& background) {
  at::NoGradGuard no_grad;
  ops::SplatOptions options;
  options.background = {background[0], background[1], background[2]};
  return ops::splat(gaussians, splat_camera(camera), options).image.clamp(0, 1);
}

at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const std::vector<data::Camera>& cameras,
                          const std::vector<double>& background) {
  std::vector<at::Tensor> pictures;
  for (const data::Camera& camera : cameras)
    pictures.push_back(draw_gaussians(gaussians, camera, background));
  return at::stack(pictures);
}

}  // namespace lact::tasks::nvs
