#include "lact/ops/activations/activations.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ops/norms/norms.h"
#include "lact/ops/norms/norms_fused.h"
#include "lact/ops/tokens/rows.h"

namespace lact::ops {

at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up) {
  LACT_CHECK(gate.sizes() == up.sizes(),
             "[gated_silu] gate has shape {} and up has shape {}, expected equal ones", gate.sizes().vec(),
             up.sizes().vec());
  if (fused_paths() && fused::fits_gated_silu(gate, up)) return fused::gated_silu(gate, up);
  return reference::gated_silu(gate, up);
}

at::Tensor gelu_tanh(const at::Tensor& x) {
  return fused_paths() && fits_rows(x) ? fused::gelu_tanh(x) : reference::gelu_tanh(x);
}

at::Tensor silu_l2_normalize(const at::Tensor& x, double epsilon) {
  if (!fused_paths() || !fused::fits_row_norm(x, {}, {})) return reference::silu_l2_normalize(x, epsilon);
  if (x.size(-1) > kernels::kMostSiluWidth) return l2_normalize(at::silu(x), epsilon);
  return fused::row_norm(kernels::RowNorm::silu_l2, x, {}, {}, epsilon);
}

}  // namespace lact::ops
