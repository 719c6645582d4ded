// Activations together with what always follows them, so that nothing in between goes through memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ops {

/// silu(gate) ∘ up, of equal shapes: the middle of SwiGLU.
at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up);

/// silu(x) / (|silu(x)|_2 + epsilon) along the last dimension; [..., D].
at::Tensor silu_l2_normalize(const at::Tensor& x, double epsilon);

namespace reference {
at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor silu_l2_normalize(const at::Tensor& x, double epsilon);
}  // namespace reference

/// One pass each way in float32, rounded once; only gate and up are kept for the backward pass.
namespace fused {
bool fits_gated_silu(const at::Tensor& gate, const at::Tensor& up);
at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up);
}  // namespace fused

}  // namespace lact::ops
