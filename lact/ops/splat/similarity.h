// Gaussians in other coordinates.
#pragma once

#include <array>

#include "lact/ops/splat/gaussians.h"

namespace lact::ops {

/// A point x goes to scale · (rotation x) + translation.
struct Similarity {
  std::array<std::array<double, 3>, 3> rotation = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  std::array<double, 3> translation{};
  double scale = 1;
};

/// The same scene: pictures of the result by moved cameras are those of the original. Harmonics of every
/// degree are turned: f(d) becomes f(Rᵀ d).
Gaussians moved(const Gaussians& gaussians, const Similarity& similarity);

}  // namespace lact::ops
