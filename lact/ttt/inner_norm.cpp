#include "lact/ttt/inner_norm.h"

#include <ATen/ATen.h>

#include "lact/ops/dispatch/dtypes.h"

namespace lact::ttt {

namespace {

struct Normed {
  at::Tensor value, inverse_deviation;
};

Normed normed(const at::Tensor& z) {
  const at::Tensor wide = ops::at_least_float(z);
  const at::Tensor centred = wide - wide.mean(-1, /*keepdim=*/true);
  const at::Tensor inverse = (centred.square().mean(-1, /*keepdim=*/true) + InnerNorm::kEpsilon).rsqrt();
  return {centred * inverse, inverse};
}

}  // namespace

at::Tensor InnerNorm::residual(const at::Tensor& x, const at::Tensor& z) const {
  return x + (normed(z).value * scale + shift).to(x.scalar_type());
}

at::Tensor InnerNorm::descent(const at::Tensor& z, const at::Tensor& negative_gradient) const {
  const auto [value, inverse] = normed(z);
  const at::Tensor along = ops::at_least_float(negative_gradient) * scale;
  const at::Tensor mean = along.mean(-1, /*keepdim=*/true);
  const at::Tensor common = (along * value).mean(-1, /*keepdim=*/true);
  return ((along - mean - value * common) * inverse).to(negative_gradient.scalar_type());
}

at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto type = x.scalar_type();
  return at::matmul(x, weight.to(type).transpose(-2, -1)) + bias.to(type).transpose(-2, -1);
}

at::Tensor weight_descent(const at::Tensor& delta, const at::Tensor& rate, const at::Tensor& input,
                          const at::Tensor& like) {
  if (!rate.defined()) return {};
  const auto type = delta.scalar_type();
  return at::matmul(delta.transpose(-2, -1), (input * rate).to(type)).to(like.scalar_type());
}

at::Tensor bias_descent(const at::Tensor& delta, const at::Tensor& rate, const at::Tensor& like) {
  if (!rate.defined()) return {};
  return (delta * rate).to(like.scalar_type()).sum(-2).unsqueeze(-1);
}

}  // namespace lact::ttt
