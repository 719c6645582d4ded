#include "lact/ops/recurrences/ssd.h"

#include "lact/ops/dispatch/paths.h"
#include "lact/ops/recurrences/checks.h"
#include "lact/ops/recurrences/paths.h"

namespace lact::ops {

namespace {

constexpr RecurrenceRules kSsdRules = {
    .operation = "ssd", .gate = "log_decay", .gate_is_log_decay = true, .shared_keys = true};

}  // namespace

RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state) {
  check_recurrence(kSsdRules, {q, k, v, log_decay, state});
  if (v.numel() == 0) return unchanged(v, state);
  if (fused_paths() && fused::fits_recurrence(v, log_decay, state)) {
    if (v.size(2) <= fused::kFewSteps && !fused::needs_gradient(q, k, v, log_decay, state)) {
      return fused::run_steps(fused::StepGate::head_decay, q, k, v, log_decay, state, 1);
    }
    return fused::ssd(q, k, v, log_decay, state);
  }
  if (v.size(2) > kMostSteps) return chunked::ssd(q, k, v, log_decay, state);
  const at::ScalarType type = recurrence_type(v, log_decay, state);
  RecurrenceResult result =
      reference::ssd(q.to(type), k.to(type), v.to(type), log_decay.to(type), state.to(type));
  return {result.out.to(v.scalar_type()), result.state};
}

}  // namespace lact::ops
