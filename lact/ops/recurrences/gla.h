// Gated linear attention: every channel of the key forgets at a rate of its own.
//   S_t = diag(e^{g_t}) S_{t-1} + k_t v_tᵀ,   o_t = scale · S_tᵀ q_t
#pragma once

#include "lact/ops/recurrences/recurrence.h"

namespace lact::ops {

/// q, k [B, H, T, K]; v [B, H, T, V]; log_decay g [B, H, T, K], float32 or wider and at most 0; state
/// [B, H, K, V].
RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale);

namespace reference {
RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale);
}

}  // namespace lact::ops
