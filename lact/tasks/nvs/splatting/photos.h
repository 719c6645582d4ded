// The photos of a capture as an optimisation of Gaussians looks at them: in the capture's own coordinates.
#pragma once

#include <vector>

#include "lact/ops/splat/camera.h"
#include "lact/ops/splat/splat.h"
#include "lact/tasks/nvs/fitting/held_out.h"

namespace lact::tasks::nvs {

ops::SplatCamera splat_camera(const data::Camera& camera);

/// A view of the Gaussians, [3, H, W] in [0, 1], without gradients.
at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const data::Camera& camera,
                          const std::vector<double>& background);

/// Of several: [N, 3, H, W].
at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const std::vector<data::Camera>& cameras,
                          const std::vector<double>& background);

}  // namespace lact::tasks::nvs
