#include "lact/ops/recurrences/gla.h"

#include "lact/ops/dispatch/paths.h"
#include "lact/ops/recurrences/checks.h"
#include "lact/ops/recurrences/paths.h"

namespace lact::ops {

namespace {

constexpr RecurrenceRules kGlaRules = {
    .operation = "gla", .gate = "log_decay", .gate_per_channel = true, .gate_is_log_decay = true};

}  // namespace

RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale) {
  check_recurrence(kGlaRules, {q, k, v, log_decay, state});
  if (v.numel() == 0) return unchanged(v, state);
  if (fused_paths() && fused::fits_recurrence(v, log_decay, state)) {
    if (v.size(2) <= fused::kFewSteps && !fused::needs_gradient(q, k, v, log_decay, state)) {
      return fused::run_steps(fused::StepGate::channel_decay, q, k, v, log_decay, state, scale);
    }
    return fused::gla(q, k, v, log_decay, state, scale);
  }
  if (v.size(2) > kMostSteps) return chunked::gla(q, k, v, log_decay, state, scale);
  const at::ScalarType type = recurrence_type(v, log_decay, state);
  RecurrenceResult result =
      reference::gla(q.to(type), k.to(type), v.to(type), log_decay.to(type), state.to(type), scale);
  return {result.out.to(v.scalar_type()), result.state};
}

}  // namespace lact::ops
