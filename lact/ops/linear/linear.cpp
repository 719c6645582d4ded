#include "lact/ops/linear/linear.h"

#include "lact/base/error.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  LACT_CHECK(weight.dim() == 2, "[linear] the weight has shape {}, expected [out, in]", weight.sizes().vec());
  LACT_CHECK(x.dim() >= 1 && x.size(-1) == weight.size(1),
             "[linear] the input has shape {}, expected [..., {}]", x.sizes().vec(), weight.size(1));
  LACT_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)),
             "[linear] the bias has shape {}, expected [{}]", bias.sizes().vec(), weight.size(0));
  if (fused_paths() && fused::fits_linear(x, weight, bias)) return fused::linear(x, weight, bias);
  return reference::linear(x, weight, bias);
}

}  // namespace lact::ops
