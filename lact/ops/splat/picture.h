// A picture of Gaussians to look at or to measure.
#pragma once

#include "lact/ops/splat/splat.h"

namespace lact::ops {

/// [3, H, W] in [0, 1], without gradients; white where nothing is in the way, unless another colour is given.
at::Tensor splat_picture(const Gaussians& gaussians, const SplatCamera& camera,
                         const std::array<double, 3>& background = {1, 1, 1});

}  // namespace lact::ops
