// From what a model says of each pixel to a Gaussian on the pixel's ray, as Long-LRM has it (Ziwen et al.
// 2024):
//
//   mean      = o + max_dist σ(mean of the 3 position numbers) d      o, d: origin and unit direction of the
//   ray log-scale = min(raw + scale_bias, scale_max) opacity   = σ(raw + opacity_bias) rotation  = raw /
//   |raw|;  the harmonics are the numbers themselves
#pragma once

#include "lact/ops/splat/gaussians.h"

namespace lact::ops {

struct GaussianHeadOptions {
  int64_t sh_degree = 0;
  double max_dist = 8;
  double scale_bias = -3.5;
  double scale_max = -1.2;
  double opacity_bias = -2;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("sh_degree", sh_degree, "degree of the spherical harmonics of a colour, 0 to 3");
    field("max_dist", max_dist, "largest distance of a Gaussian from its camera, in the model's coordinates");
    field("scale_bias", scale_bias, "log-scale of a Gaussian of which the model says 0");
    field("scale_max", scale_max, "largest log-scale");
    field("opacity_bias", opacity_bias, "logit of the opacity of a Gaussian of which the model says 0");
  }
  bool operator==(const GaussianHeadOptions&) const = default;

  int64_t coefficients() const { return (sh_degree + 1) * (sh_degree + 1); }
  /// Numbers per pixel: 3 of the position, [coefficients, 3], 3 of the scale, 4 of the rotation, 1 of
  /// opacity.
  int64_t channels() const { return 11 + 3 * coefficients(); }
};

/// raw [B, V · H/patch · W/patch, patch · patch · channels], by row, column and channel inside of a token;
/// intrinsics [B, V, 4], camera_to_world [B, V, 4, 4] -> B scenes of V · H · W Gaussians by view, row and
/// column. The fields have the batch in front: means [B, N, 3].
Gaussians gaussian_head(const at::Tensor& raw, const at::Tensor& intrinsics,
                        const at::Tensor& camera_to_world, int64_t height, int64_t width, int64_t patch,
                        const GaussianHeadOptions& options);

}  // namespace lact::ops
