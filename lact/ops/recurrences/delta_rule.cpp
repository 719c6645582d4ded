#include "lact/ops/recurrences/delta_rule.h"

#include "lact/ops/dispatch/paths.h"
#include "lact/ops/recurrences/checks.h"
#include "lact/ops/recurrences/paths.h"

namespace lact::ops {

namespace {

constexpr RecurrenceRules kDeltaRuleRules = {.operation = "delta_rule", .gate = "beta"};

}  // namespace

RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale) {
  check_recurrence(kDeltaRuleRules, {q, k, v, beta, state});
  if (v.numel() == 0) return unchanged(v, state);
  if (fused_paths() && fused::fits_recurrence(v, beta, state)) {
    if (v.size(2) <= fused::kFewSteps && !fused::needs_gradient(q, k, v, beta, state)) {
      return fused::run_steps(fused::StepGate::share, q, k, v, beta, state, scale);
    }
    return fused::delta_rule(q, k, v, beta, state, scale);
  }
  if (v.size(2) > kMostSteps) return chunked::delta_rule(q, k, v, beta, state, scale);
  const at::ScalarType type = recurrence_type(v, beta, state);
  RecurrenceResult result =
      reference::delta_rule(q.to(type), k.to(type), v.to(type), beta.to(type), state.to(type), scale);
  return {result.out.to(v.scalar_type()), result.state};
}

}  // namespace lact::ops
