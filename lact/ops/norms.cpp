#include "lact/ops/norms.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dtypes.h"

namespace lact::ops {

namespace {

void check_weight(const char* op, const char* name, const at::Tensor& x, const at::Tensor& weight) {
  if (!weight.defined()) return;
  LACT_CHECK(weight.dim() == 1 && weight.size(0) == x.size(-1), "[{}] {} has shape {}, expected [{}]", op,
             name, weight.sizes().vec(), x.size(-1));
}

at::Tensor scaled(at::Tensor x, const at::Tensor& weight) { return weight.defined() ? x * weight : x; }

}  // namespace

at::Tensor l2_normalize(const at::Tensor& x, double epsilon) {
  const at::Tensor wide = at_least_float(x);
  return (wide / (wide.norm(2, -1, /*keepdim=*/true) + epsilon)).to(x.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  check_weight("rms_norm", "weight", x, weight);
  const at::Tensor wide = at_least_float(x);
  const at::Tensor normed = wide * (wide.square().mean(-1, /*keepdim=*/true) + epsilon).rsqrt();
  return scaled(normed, weight).to(x.scalar_type());
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  check_weight("layer_norm", "weight", x, weight);
  check_weight("layer_norm", "bias", x, bias);
  const at::Tensor centred = at_least_float(x) - at_least_float(x).mean(-1, /*keepdim=*/true);
  at::Tensor normed =
      scaled(centred * (centred.square().mean(-1, /*keepdim=*/true) + epsilon).rsqrt(), weight);
  if (bias.defined()) normed = normed + bias;
  return normed.to(x.scalar_type());
}

at::Tensor row_norms(const at::Tensor& weight) { return weight.norm(2, -1, /*keepdim=*/true); }

at::Tensor set_row_norms(const at::Tensor& weight, const at::Tensor& target, double epsilon) {
  return weight / (row_norms(weight) + epsilon) * target;
}

}  // namespace lact::ops
