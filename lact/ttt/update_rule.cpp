#include "lact/ttt/update_rule.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/norms/norms.h"

namespace lact::ttt {

namespace {

/// Newton-Schulz of each matrix. Matrices of one shape go through it together: few large products instead of
/// many small ones.
Matrices orthogonalise(const Matrices& steps, const ops::NewtonSchulzOptions& options) {
  const auto same = [&](const at::Tensor& step) { return step.sizes() == steps.front().sizes(); };
  if (std::all_of(steps.begin(), steps.end(), same)) {
    return ops::newton_schulz(at::stack(steps), options).unbind(0);
  }
  Matrices results;
  for (const auto& step : steps) results.push_back(ops::newton_schulz(step, options));
  return results;
}

}  // namespace

Memory start_memory(const UpdateRule& rule, Matrices weights) {
  Memory memory;
  memory.weights = std::move(weights);
  for (const auto& weight : memory.weights) {
    memory.initial_norms.push_back(ops::row_norms(rule.detach_norm ? weight.detach() : weight));
    if (rule.momentum) memory.momentum.push_back(at::zeros(weight.sizes(), weight.options()));
  }
  if (rule.norm_placement == NormPlacement::pre) memory.accumulated = memory.weights;
  return memory;
}

void write(Memory& memory, const UpdateRule& rule, Matrices direction, const at::Tensor& beta) {
  LACT_CHECK(direction.size() == memory.weights.size(), "[update_rule] {} directions for {} matrices",
             direction.size(), memory.weights.size());
  LACT_CHECK(rule.momentum == beta.defined(), "[update_rule] the rule {} momentum but beta is {}",
             rule.momentum ? "has" : "has no", beta.defined() ? "given" : "missing");

  // M ← mean(β) M + g; M starts at zero.
  if (rule.momentum) {
    const at::Tensor decay = beta.mean(-2, /*keepdim=*/true);
    for (size_t i = 0; i < direction.size(); ++i) {
      direction[i] = direction[i] + memory.momentum[i] * decay.to(direction[i].scalar_type());
    }
    memory.momentum = direction;
  }

  const Matrices steps = rule.muon ? orthogonalise(direction, rule.newton_schulz) : direction;
  for (size_t i = 0; i < direction.size(); ++i) {
    at::Tensor& weight = memory.weights[i];
    const bool accumulates = rule.norm_placement == NormPlacement::pre;
    const at::Tensor& stored = accumulates ? memory.accumulated[i] : weight;

    const at::Tensor moved = stored + steps[i];

    if (rule.norm_placement == NormPlacement::none) {
      weight = moved;
      continue;
    }
    at::Tensor target = memory.initial_norms[i];
    if (rule.norm_target == NormTarget::previous) {
      target = ops::row_norms(rule.detach_norm ? stored.detach() : stored);
    }
    weight = ops::set_row_norms(moved, target, rule.norm_epsilon);
    if (accumulates) memory.accumulated[i] = moved;
  }
}

}  // namespace lact::ttt
