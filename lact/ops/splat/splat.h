// Gaussian splatting: a picture of Gaussians, front to back (Kerbl et al. 2023, with the conventions and
// constants of gsplat 1.6).
//
//   Σ₂ = J R Σ Rᵀ Jᵀ + blur · 1           Σ = (Q diag(eˢ)) (Q diag(eˢ))ᵀ, J the Jacobian of the projection
//   α_i = min(0.99, o_i e^(-½ dᵀ Σ₂⁻¹ d))  d from the pixel's centre to the projected mean; below 1/255:
//   skipped T_i = Π_(j<i) (1 - α_j)                nearer ones first, equal depths in input order image = Σ
//   c_i α_i T_i + T background   a pixel ends before the Gaussian that would bring T to 1e-4 or less
#pragma once

#include "lact/ops/splat/camera.h"
#include "lact/ops/splat/gaussians.h"

namespace lact::ops {

inline constexpr double kAlphaCap = 0.99, kAlphaThreshold = 1.0 / 255, kTransmittanceStop = 1e-4;
inline constexpr double kRadiusInDeviations = 3.33;  ///< beyond it α is below 1/255 whatever the opacity

struct SplatOptions {
  int64_t degree = 3;                  ///< of the harmonics, at most; fewer are used where there are fewer
  std::array<double, 3> background{};  ///< seen where nothing is in the way
  double blur = 0.3;                   ///< added to the variance of every splat, in pixels²
  double near = 0.01, far = 1e10;      ///< depths between which Gaussians are seen
  /// [N, 2], added to the projected means: zeros, whose gradient is that of the loss to the means in pixels.
  at::Tensor screen_offsets{};
};

/// float32 or float64, as the Gaussians are.
struct SplatImage {
  at::Tensor image;  ///< [3, H, W]
  at::Tensor alpha;  ///< [H, W]: 1 - T
  at::Tensor depth;  ///< [H, W]: Σ z_i α_i T_i; divided by alpha it is the expected depth
  at::Tensor radii;  ///< int64 [N, 2]: extent of each splat in pixels along x and y; 0 where it is not seen
};

/// Gradients go to every field of the Gaussians and to the screen offsets. Two runs give the same bits,
/// whatever the number of threads.
SplatImage splat(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options = {});

namespace reference {
SplatImage splat(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options);
}
namespace fused {
bool fits_splat(const Gaussians& gaussians, const SplatOptions& options);
SplatImage splat(const Gaussians& gaussians, const SplatCamera& camera, const SplatOptions& options);
}  // namespace fused

}  // namespace lact::ops
