// The delta rule (DeltaNet): what the state says of a key is replaced by the value, to the share beta.
//   S_t = S_{t-1} + beta_t k_t (v_t - S_{t-1}ᵀ k_t)ᵀ,   o_t = scale · S_tᵀ q_t
#pragma once

#include "lact/ops/recurrences/recurrence.h"

namespace lact::ops {

/// q, k [B, H, T, K], the keys of length 1; v [B, H, T, V]; beta [B, H, T], float32 or wider, 0 to 2; state
/// [B, H, K, V].
RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale);

namespace reference {
RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale);
}

}  // namespace lact::ops
