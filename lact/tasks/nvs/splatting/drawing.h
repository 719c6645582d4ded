// Pictures of Gaussians, without gradients.
#pragma once

#include <vector>

#include "lact/data/views/camera.h"
#include "lact/ops/splat/gaussians.h"

namespace lact::tasks::nvs {

/// A view of the Gaussians, [3, H, W] in [0, 1].
at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const data::Camera& camera,
                          const std::vector<double>& background);

/// Of several: [N, 3, H, W].
at::Tensor draw_gaussians(const ops::Gaussians& gaussians, const std::vector<data::Camera>& cameras,
                          const std::vector<double>& background);

}  // namespace lact::tasks::nvs
