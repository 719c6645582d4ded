#include "lact/ops/norms/norms.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/norms/norms_fused.h"

namespace lact::ops {

namespace {

using kernels::RowNorm;

void check_weight(const char* op, const char* name, const at::Tensor& x, const at::Tensor& weight) {
  if (!weight.defined()) return;
  LACT_CHECK(weight.dim() == 1 && weight.size(0) == x.size(-1), "[{}] {} has shape {}, expected [{}]", op,
             name, weight.sizes().vec(), x.size(-1));
}

bool use_fused(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return fused_paths() && fused::fits_row_norm(x, weight, bias);
}

}  // namespace

at::Tensor l2_normalize(const at::Tensor& x, double epsilon) {
  if (use_fused(x, {}, {})) return fused::row_norm(RowNorm::l2, x, {}, {}, epsilon);
  return reference::l2_normalize(x, epsilon);
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  check_weight("rms_norm", "weight", x, weight);
  if (use_fused(x, weight, {})) return fused::row_norm(RowNorm::rms, x, weight, {}, epsilon);
  return reference::rms_norm(x, weight, epsilon);
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  check_weight("layer_norm", "weight", x, weight);
  check_weight("layer_norm", "bias", x, bias);
  if (use_fused(x, weight, bias)) return fused::row_norm(RowNorm::layer, x, weight, bias, epsilon);
  return reference::layer_norm(x, weight, bias, epsilon);
}

at::Tensor scale_shift(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift) {
  check_weight("scale_shift", "scale", x, scale);
  check_weight("scale_shift", "shift", x, shift);
  if (use_fused(x, scale, shift)) return fused::row_norm(RowNorm::none, x, scale, shift, 0);
  return reference::scale_shift(x, scale, shift);
}

at::Tensor row_norms(const at::Tensor& weight) { return weight.norm(2, -1, /*keepdim=*/true); }

at::Tensor set_row_norms(const at::Tensor& weight, const at::Tensor& target, double epsilon) {
  return weight / (row_norms(weight) + epsilon) * target;
}

}  // namespace lact::ops
