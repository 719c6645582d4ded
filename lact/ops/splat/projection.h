// The reference form's first half: where each Gaussian lands in the picture, and how wide.
#pragma once

#include "lact/ops/splat/splat.h"

namespace lact::ops::reference {

/// Zeros where a Gaussian is not seen: nearer than `near`, beyond `far`, or outside of the picture.
struct Projection {
  at::Tensor means;   ///< [N, 2], in pixels
  at::Tensor depths;  ///< [N]
  at::Tensor conics;  ///< [N, 3]: A, B, C of A dx² + 2 B dx dy + C dy²
  at::Tensor radii;   ///< int64 [N, 2]
};

/// Looks at means, quaternions, log_scales only.
Projection project(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options);

/// Σ_k Y_k(d / |d|) c_k, degree 0 to 3: directions [..., N, 3], coefficients [N, K, 3] -> [..., N, 3].
at::Tensor spherical_harmonics(const at::Tensor& directions, const at::Tensor& coefficients, int64_t degree);

/// max(0, harmonics + ½), seen from the camera: [N, 3].
at::Tensor colours(const Gaussians& gaussians, const SplatCamera& camera, int64_t degree);

}  // namespace lact::ops::reference
