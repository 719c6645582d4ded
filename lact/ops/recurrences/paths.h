// The ways to compute a recurrence and the choice between them. All give the same numbers:
//   reference   a token at a time, as it is written (recurrences_reference.cpp)
//   chunked     a chunk of tokens at a time, differentiable operations of LibTorch: any device, any type
//   fused       the same with kernels and a backward pass of its own: float32 and bfloat16 on a processor
#pragma once

#include <ATen/ATen.h>

#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/recurrences/recurrence.h"

namespace lact::ops {

/// So few tokens are taken one at a time where nothing is fused.
constexpr int64_t kMostSteps = 32;

/// The type in which tokens of `v` and a wide state are computed.
inline at::ScalarType recurrence_type(const at::Tensor& v, const at::Tensor& gate, const at::Tensor& state) {
  const at::ScalarType wide = at::promote_types(gate.scalar_type(), state.scalar_type());
  return at::promote_types(wide_type(v.scalar_type()), wide);
}

/// No token: nothing to read, and the state as it was.
inline RecurrenceResult unchanged(const at::Tensor& v, const at::Tensor& state) {
  return {at::zeros_like(v), state};
}

namespace chunked {

RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale);
RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale);
RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state);

}  // namespace chunked

namespace fused {

/// float32 or bfloat16 tokens on a processor, with a gate and a state in float32.
bool fits_recurrence(const at::Tensor& v, const at::Tensor& gate, const at::Tensor& state);

inline bool needs_gradient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& gate, const at::Tensor& state) {
  return at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad() ||
                                        gate.requires_grad() || state.requires_grad());
}

RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale);
RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale);
RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state);

/// So few tokens without gradients are taken one at a time, each a pass over the state.
constexpr int64_t kFewSteps = 8;

/// What the gate of a token is in run_steps: a log decay of every channel (GLA) or of the head (ssd), or the
/// share to which the value replaces what the state says (the delta rule).
enum class StepGate { channel_decay, head_decay, share };
RecurrenceResult run_steps(StepGate kind, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& gate, const at::Tensor& state, double scale);

}  // namespace fused

}  // namespace lact::ops
