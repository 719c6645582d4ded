// Where an optimisation of Gaussians begins.
#pragma once

#include "lact/data/views/points.h"
#include "lact/ops/splat/gaussians.h"
#include "lact/tasks/nvs/splatting/config.h"

namespace lact::tasks::nvs {

/// 1.1 times the largest distance of a camera to the middle of all: the unit of positions and sizes.
double extent_of(const std::vector<data::Camera>& cameras);

/// Random points in a cube around what the cameras look at.
data::ScenePoints random_points(const std::vector<data::Camera>& cameras, const SplatConfig& config,
                                int64_t seed);

/// A Gaussian for every point, at most config.most of them; float32.
ops::Gaussians initial_gaussians(data::ScenePoints points, const SplatConfig& config, int64_t seed);

}  // namespace lact::tasks::nvs
