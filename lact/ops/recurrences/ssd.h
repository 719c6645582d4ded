// Mamba-2's recurrence (structured state-space duality): a head forgets as a whole.
//   S_t = e^{g_t} S_{t-1} + k_t v_tᵀ,   o_t = S_tᵀ q_t
// In the words of Mamba-2: q is C, k is B, v is the input times its step size.
#pragma once

#include "lact/ops/recurrences/recurrence.h"

namespace lact::ops {

/// q, k [B, H or 1, T, K]: one for all heads, or one for each; v [B, H, T, V]; log_decay g [B, H, T], float32
/// or wider and at most 0; state [B, H, K, V].
RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state);

namespace reference {
RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state);
}

}  // namespace lact::ops
