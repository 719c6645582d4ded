#include "lact/tasks/nvs/splatting/drawing.h"

#include <ATen/ATen.h>

#include "lact/tasks/nvs/gaussian_scene.h"

namespace lact::tasks::nvs {

at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const data::Camera& camera,
                          const std::vector<double>& background) {
  at::NoGradGuard no_grad;
  ops::SplatOptions options;
  options.background = {background[0], background[1], background[2]};
  return ops::splat(gaussians, splat_camera_of(camera), options).image.clamp(0, 1);
}

at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const std::vector<data::Camera>& cameras,
                          const std::vector<double>& background) {
  std::vector<at::Tensor> pictures;
  for (const data::Camera& camera : cameras)
    pictures.push_back(draw_gaussians(gaussians, camera, background));
  return at::stack(pictures);
}

}  // namespace lact::tasks::nvs
