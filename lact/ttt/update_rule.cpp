#include "lact/ttt/update_rule.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/norms/norms.h"
#include "lact/ttt/add_up.h"

namespace lact::ttt {

namespace {

constexpr double kSmallestImportance = 1e-30;

/// [B, H, ...] as heads, of which each rank takes some.
at::Tensor orthogonalised_by_shares(const at::Tensor& step, const ops::NewtonSchulzOptions& options,
                                    const parallel::Group& ranks) {
  const at::Tensor heads = step.flatten(0, 1);
  const Range share = own_share(heads.size(0), ranks);
  const at::Tensor own = ops::newton_schulz(heads.narrow(0, share.begin, share.size()), options);
  return gather_shares(own, heads.size(0), ranks).view(step.sizes());
}

/// Newton-Schulz of each matrix. Matrices of one shape go through it together: few large products instead of
/// many small ones.
void orthogonalise(Matrices& steps, const ops::NewtonSchulzOptions& options, const parallel::Group& ranks) {
  Matrices present;
  for (const auto& step : steps) {
    if (step.defined()) present.push_back(step);
  }
  const auto same = [&](const at::Tensor& step) { return step.sizes() == present.front().sizes(); };
  if (!ranks.alone()) {
    for (auto& step : present) step = orthogonalised_by_shares(step, options, ranks);
  } else if (std::all_of(present.begin(), present.end(), same)) {
    present = ops::newton_schulz(at::stack(present), options).unbind(0);
  } else {
    for (auto& step : present) step = ops::newton_schulz(step, options);
  }
  size_t next = 0;
  for (auto& step : steps) {
    if (step.defined()) step = present[next++];
  }
}

/// F ← a F + (1 - a) s²;  moved - λ (1 - F / max F) (moved - anchor). Both are constants to the gradient.
at::Tensor pulled(Memory& memory, const ElasticAnchor& elastic, size_t matrix, const at::Tensor& moved,
                  const at::Tensor& step) {
  at::Tensor& importance = memory.importance[matrix];
  const at::Tensor square = step.detach().square();
  importance = elastic.importance_decay * importance + (1 - elastic.importance_decay) * square;
  const at::Tensor largest = importance.amax({-2, -1}, /*keepdim=*/true).clamp_min(kSmallestImportance);
  return moved - elastic.pull * (1 - importance / largest) * (moved - memory.anchor[matrix]);
}

}  // namespace

std::vector<bool> written_matrices(const FastWeightNetwork& network, const UpdateRule& rule) {
  std::vector<bool> written;
  for (const auto& shape : network.matrices(1, 1, 1)) {
    const bool wanted = rule.written == Written::all || written.size() == network.output_matrix();
    written.push_back(wanted && !shape.fixed);
  }
  return written;
}

Memory start_memory(const UpdateRule& rule, Matrices weights, const std::vector<bool>& written) {
  Memory memory;
  memory.weights = std::move(weights);
  const auto for_each = [&](Matrices& group, bool present, auto make) {
    for (size_t i = 0; present && i < memory.weights.size(); ++i) {
      group.push_back(written.empty() || written[i] ? make(memory.weights[i]) : at::Tensor());
    }
  };
  const auto zeros = [](const at::Tensor& weight) { return at::zeros(weight.sizes(), weight.options()); };
  for_each(memory.initial_norms, true, [&](const at::Tensor& weight) {
    return ops::row_norms(rule.detach_norm ? weight.detach() : weight);
  });
  for_each(memory.momentum, rule.momentum, zeros);
  for_each(memory.accumulated, rule.norm_placement == NormPlacement::pre,
           [](const at::Tensor& weight) { return weight; });
  for_each(memory.anchor, rule.elastic.pull > 0, [](const at::Tensor& weight) { return weight.detach(); });
  for_each(memory.importance, rule.elastic.pull > 0, zeros);
  return memory;
}

void write(Memory& memory, const UpdateRule& rule, Matrices direction, const at::Tensor& beta,
           const parallel::Group& ranks) {
  LACT_CHECK(direction.size() == memory.weights.size(), "[update_rule] {} directions for {} matrices",
             direction.size(), memory.weights.size());
  LACT_CHECK(rule.momentum == beta.defined(), "[update_rule] the rule {} momentum but beta is {}",
             rule.momentum ? "has" : "has no", beta.defined() ? "given" : "missing");
  for (auto& along : direction) {
    if (rule.ascent && along.defined()) along = -along;
  }

  // M ← mean(β) M + g; M starts at zero.
  if (rule.momentum) {
    const at::Tensor decay = beta.mean(-2, /*keepdim=*/true);
    for (size_t i = 0; i < direction.size(); ++i) {
      if (!direction[i].defined()) continue;
      direction[i] = direction[i] + memory.momentum[i] * decay.to(direction[i].scalar_type());
    }
    memory.momentum = direction;
  }

  Matrices& steps = direction;
  if (rule.muon) orthogonalise(steps, rule.newton_schulz, ranks);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].defined()) continue;
    at::Tensor& weight = memory.weights[i];
    const bool accumulates = rule.norm_placement == NormPlacement::pre;
    at::Tensor& stored = accumulates ? memory.accumulated[i] : weight;

    at::Tensor moved = stored + steps[i];
    if (rule.elastic.pull > 0) moved = pulled(memory, rule.elastic, i, moved, steps[i]);

    if (rule.norm_placement == NormPlacement::none) {
      weight = moved;
    } else {
      at::Tensor target = memory.initial_norms[i];
      if (rule.norm_target == NormTarget::previous) {
        target = ops::row_norms(rule.detach_norm ? stored.detach() : stored);
      }
      weight = ops::set_row_norms(moved, target, rule.norm_epsilon);
      if (accumulates) stored = moved;
    }
    if (rule.elastic.pull > 0) {
      const double decay = rule.elastic.anchor_decay;
      memory.anchor[i] = decay * memory.anchor[i] + (1 - decay) * stored.detach();
    }
  }
}

}  // namespace lact::ttt
