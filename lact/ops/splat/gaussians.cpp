#include "lact/ops/splat/gaussians.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/ops/dispatch/device.h"

namespace lact::ops {

int64_t Gaussians::degree() const {
  const int64_t count = harmonics.size(1);
  return count >= 16 ? 3 : count >= 9 ? 2 : count >= 4 ? 1 : 0;
}

void check_shapes(const Gaussians& gaussians) {
  LACT_CHECK(gaussians.means.dim() == 2 && gaussians.means.size(1) == 3,
             "[splat] means have shape {}, expected [N, 3]", gaussians.means.sizes().vec());
  const int64_t count = gaussians.size();
  const at::Tensor& harmonics = gaussians.harmonics;
  LACT_CHECK(harmonics.dim() == 3 && harmonics.size(0) == count && harmonics.size(2) == 3,
             "[splat] harmonics have shape {}, expected [{}, K, 3]", harmonics.sizes().vec(), count);
  const int64_t coefficients = harmonics.size(1);
  LACT_CHECK(coefficients == 1 || coefficients == 4 || coefficients == 9 || coefficients == 16,
             "[splat] harmonics have {} coefficients, expected 1, 4, 9 or 16", coefficients);
  const auto expect = [&](const char* name, const at::Tensor& field, at::IntArrayRef shape) {
    LACT_CHECK(field.sizes() == shape, "[splat] {} have shape {}, expected {}", name, field.sizes().vec(),
               shape.vec());
  };
  expect("quaternions", gaussians.quaternions, {count, 4});
  expect("log_scales", gaussians.log_scales, {count, 3});
  expect("opacity_logits", gaussians.opacity_logits, {count});
  const auto type = gaussians.means.scalar_type();
  LACT_CHECK(type == at::kFloat || type == at::kDouble, "[splat] means are {}, expected float32 or float64",
             toString(type));
  for (size_t i = 0; i < kGaussianFields.size(); ++i) {
    const at::Tensor& field = *gaussians.fields()[i];
    LACT_CHECK(field.scalar_type() == type, "[splat] {} are {} but means are {}", kGaussianFields[i],
               toString(field.scalar_type()), toString(type));
  }
}

void check_finite(const Gaussians& gaussians) {
  for (size_t i = 0; i < kGaussianFields.size(); ++i) {
    const at::Tensor& field = *gaussians.fields()[i];
    // A sum is finite exactly if all of it is, or has overflowed; only then is it worth a second look.
    if (has_values(field) && !std::isfinite(field.detach().sum().item<double>()))
      LACT_CHECK(at::isfinite(field.detach()).all().item<bool>(),
                 "[splat] {} hold a number that is not finite", kGaussianFields[i]);
  }
}

void check_gaussians(const Gaussians& gaussians) {
  check_shapes(gaussians);
  check_finite(gaussians);
}

}  // namespace lact::ops
