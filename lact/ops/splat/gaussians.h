// A scene of Gaussians as optimizers and files keep it: before activation.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace lact::ops {

/// N Gaussians, float32 or float64, in the frame of the scene.
struct Gaussians {
  at::Tensor means;           ///< [N, 3]
  at::Tensor quaternions;     ///< [N, 4]: w, x, y, z, of any length; zeros turn nothing
  at::Tensor log_scales;      ///< [N, 3]
  at::Tensor opacity_logits;  ///< [N]
  at::Tensor harmonics;       ///< [N, K, 3]: coefficients of degree 0 .. 3, K = 1, 4, 9 or 16

  int64_t size() const { return means.size(0); }
  int64_t degree() const;

  /// The fields in the order above, to be treated alike.
  std::array<at::Tensor*, 5> fields() {
    return {&means, &quaternions, &log_scales, &opacity_logits, &harmonics};
  }
  std::array<const at::Tensor*, 5> fields() const {
    return {&means, &quaternions, &log_scales, &opacity_logits, &harmonics};
  }
};

/// Names of the fields, in their order.
inline constexpr std::array<const char*, 5> kGaussianFields = {"means", "quaternions", "log_scales",
                                                               "opacity_logits", "harmonics"};

/// Throws one sentence for shapes and types that do not fit together.
void check_shapes(const Gaussians& gaussians);
/// Throws one sentence for numbers that are not finite.
void check_finite(const Gaussians& gaussians);
/// Both.
void check_gaussians(const Gaussians& gaussians);

/// f applied to every field.
template <class Function>
Gaussians map_fields(const Gaussians& gaussians, const Function& f) {
  Gaussians mapped = gaussians;
  for (at::Tensor* field : mapped.fields()) *field = f(*field);
  return mapped;
}

}  // namespace lact::ops
