// y = x Wᵀ + b in the dtype of x, whatever the parameters are kept in.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// x [..., in], weight [out, in], bias [out] or undefined; returns [..., out] in the dtype of x.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

namespace reference {
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
}

/// float32 or bfloat16 x and float32 weights on a processor. No copy of the weight in another dtype is made;
/// its gradient is summed in float32.
namespace fused {
bool fits_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
}  // namespace fused

}  // namespace lact::ops
