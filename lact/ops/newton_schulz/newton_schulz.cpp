#include "lact/ops/newton_schulz/newton_schulz.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

std::array<double, 3> newton_schulz_coefficients(Coefficients coefficients, int64_t step) {
  static constexpr std::array<double, 3> kFixed = {3.4445, -4.7750, 2.0315};
  static constexpr std::array<std::array<double, 3>, 5> kVariable = {{{4.0848, -6.8946, 2.9270},
                                                                      {3.9505, -6.3029, 2.6377},
                                                                      {3.7418, -5.5913, 2.3037},
                                                                      {2.8769, -3.1427, 1.2046},
                                                                      {2.8366, -3.0525, 1.2012}}};
  if (coefficients == Coefficients::fixed) return kFixed;
  return kVariable[std::min<size_t>(step, kVariable.size() - 1)];
}

at::Tensor newton_schulz(const at::Tensor& gradient, const NewtonSchulzOptions& options) {
  LACT_CHECK(gradient.dim() >= 2, "[newton_schulz] the input has shape {}, expected [..., rows, cols]",
             gradient.sizes().vec());
  LACT_CHECK(gradient.is_floating_point(),
             "[newton_schulz] the input has dtype {}, expected a floating point type",
             toString(gradient.scalar_type()));
  LACT_CHECK(options.steps >= 0, "[newton_schulz] steps is {}, expected 0 or more", options.steps);
  if (fused_paths() && fused::fits(gradient, options)) return fused::newton_schulz(gradient, options);
  return reference::newton_schulz(gradient, options);
}

}  // namespace lact::ops
