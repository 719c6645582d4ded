// Fewer Gaussians: those that can be seen.
#pragma once

#include "lact/ops/splat/gaussians.h"

namespace lact::ops {

/// Which of them, and in which order.
Gaussians take(const Gaussians& gaussians, const at::Tensor& indices);

/// The most opaque ones and some others, in their order. Of `keep`, a share of all, the share `at_random` is
/// drawn by LibTorch's generator from those that would go, so that a gradient reaches them, too: Long-LRM
/// keeps 0.4, of which 0.1 at random, the 36 % that are most opaque and 4 % of the others.
Gaussians most_opaque(const Gaussians& gaussians, double keep, double at_random = 0);

/// Those whose opacity is above a limit.
Gaussians more_opaque_than(const Gaussians& gaussians, double opacity);

}  // namespace lact::ops
