#include <ATen/ATen.h>

#include "lact/ops/activations/activations.h"
#include "lact/ops/norms/norms.h"

namespace lact::ops::reference {

at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up) { return at::silu(gate) * up; }

at::Tensor gelu_tanh(const at::Tensor& x) { return at::gelu(x, "tanh"); }

at::Tensor silu_l2_normalize(const at::Tensor& x, double epsilon) {
  return l2_normalize(at::silu(x), epsilon);
}

}  // namespace lact::ops::reference
