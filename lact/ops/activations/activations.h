// Activations together with what always follows them, so that nothing in between goes through memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// silu(gate) ∘ up, of equal shapes: the middle of SwiGLU.
at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up);

/// x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))).
at::Tensor gelu_tanh(const at::Tensor& x);

/// silu(x) / (|silu(x)|_2 + epsilon) along the last dimension; [..., D].
at::Tensor silu_l2_normalize(const at::Tensor& x, double epsilon);

namespace reference {
at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor gelu_tanh(const at::Tensor& x);
at::Tensor silu_l2_normalize(const at::Tensor& x, double epsilon);
}  // namespace reference

/// One pass each way in float32, rounded once; only the inputs are kept for the backward pass.
namespace fused {
bool fits_gated_silu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor gelu_tanh(const at::Tensor& x);  ///< of what fits_rows
}  // namespace fused

}  // namespace lact::ops
