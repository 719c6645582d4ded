#include <ATen/ATen.h>

#include "lact/ops/linear/linear.h"

namespace lact::ops::reference {

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto type = x.scalar_type();
  return bias.defined() ? at::linear(x, weight.to(type), bias.to(type)) : at::linear(x, weight.to(type));
}

}  // namespace lact::ops::reference
