#include "lact/nn/norm.h"

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/ops/norms/norms.h"

namespace lact::nn {

Norm::Norm(int64_t width, const NormOptions& options) : options_(options) {
  LACT_CHECK(!(options.bias && options.kind == NormKind::rms), "[norm] an RMS-norm has no bias");
  weight = register_parameter("weight", at::ones({width}));
  if (options.bias) bias = register_parameter("bias", at::zeros({width}));
}

at::Tensor Norm::forward(const at::Tensor& x) const {
  const profile::Scope part("norms");
  if (options_.kind == NormKind::rms) return ops::rms_norm(x, weight, options_.epsilon);
  return ops::layer_norm(x, weight, bias, options_.epsilon);
}

}  // namespace lact::nn
