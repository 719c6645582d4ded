#include <ATen/ATen.h>

#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/norms/norms.h"

namespace lact::ops::reference {

namespace {

at::Tensor scaled(at::Tensor x, const at::Tensor& weight) { return weight.defined() ? x * weight : x; }

}  // namespace

at::Tensor l2_normalize(const at::Tensor& x, double epsilon) {
  const at::Tensor wide = at_least_float(x);
  return (wide / (wide.norm(2, -1, /*keepdim=*/true) + epsilon)).to(x.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const at::Tensor wide = at_least_float(x);
  const at::Tensor normed = wide * (wide.square().mean(-1, /*keepdim=*/true) + epsilon).rsqrt();
  return scaled(normed, weight).to(x.scalar_type());
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  const at::Tensor centred = at_least_float(x) - at_least_float(x).mean(-1, /*keepdim=*/true);
  at::Tensor normed =
      scaled(centred * (centred.square().mean(-1, /*keepdim=*/true) + epsilon).rsqrt(), weight);
  if (bias.defined()) normed = normed + bias;
  return normed.to(x.scalar_type());
}

at::Tensor scale_shift(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift) {
  return x * scale.to(x.scalar_type()) + shift.to(x.scalar_type());
}

}  // namespace lact::ops::reference
