#include "lact/ttt/passes/update.h"

#include <ATen/ATen.h>

#include "lact/kernels/row_steps.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/ttt/add_up.h"

namespace lact::ttt::fused {

namespace {

/// Calls body(first row, rows) for all rows of [heads, rows, columns].
template <class Body>
void for_each_rows(const at::Tensor& matrices, const Body& body) {
  constexpr int64_t kRows = 64;
  const int64_t rows = matrices.size(0) * matrices.size(1);
  ops::for_each_item((rows + kRows - 1) / kRows, [&](int64_t item, int64_t) {
    body(item * kRows, std::min(kRows, rows - item * kRows));
  });
}

const float* at_row(const at::Tensor& matrices, int64_t row) {
  return matrices.data_ptr<float>() + row * matrices.size(2);
}
float* to_row(const at::Tensor& matrices, int64_t row) { return const_cast<float*>(at_row(matrices, row)); }

at::Tensor per_row(const at::Tensor& matrices) {
  return at::empty({matrices.size(0), matrices.size(1)}, matrices.options());
}

at::Tensor row_norms(const at::Tensor& matrices) {
  const at::Tensor norms = per_row(matrices);
  for_each_rows(matrices, [&](int64_t row, int64_t rows) {
    kernels::row_steps_kernels().norms(at_row(matrices, row), rows, matrices.size(2),
                                       norms.data_ptr<float>() + row);
  });
  return norms;
}

ops::fused::NewtonSchulzPrecision newton_schulz_precision(const UpdatePrecision& precision) {
  return {precision.bf16 && kernels::multiplies_pairs(), precision.bf16 ? at::kBFloat16 : at::kFloat};
}

/// F ← a F + (1 - a) s²; returns λ (1 - F / max F).
at::Tensor elastic_pull(const ElasticAnchor& elastic, at::Tensor& importance, const at::Tensor& along) {
  constexpr double kSmallest = 1e-30;
  importance = at::addcmul(elastic.importance_decay * importance, along, along, 1 - elastic.importance_decay);
  return elastic.pull * (1 - importance / importance.amax({1, 2}, /*keepdim=*/true).clamp_min(kSmallest));
}

/// The heads that this rank orthogonalises.
at::Tensor share_of(const at::Tensor& moment, const UpdatePrecision& precision) {
  if (precision.ranks.alone()) return moment;
  const Range share = own_share(moment.size(0), precision.ranks);
  return moment.narrow(0, share.begin, share.size()).contiguous();
}

void add(at::Tensor& sum, const at::Tensor& term) { sum = sum.defined() ? sum + term : term; }

}  // namespace

UpdateTape step(FlatMemory& memory, const UpdateRule& rule, const PerMatrix& direction,
                const at::Tensor& decay, const UpdatePrecision& precision) {
  UpdateTape tape;
  tape.decay = decay;
  for (size_t i = 0; i < direction.size(); ++i) {
    // M ← mean(β) M + g
    at::Tensor moment = rule.ascent ? -direction[i] : direction[i];
    if (rule.momentum) {
      tape.momentum_before.push_back(memory.momentum[i]);
      moment = at::addcmul(moment, memory.momentum[i], decay.view({-1, 1, 1}));
      memory.momentum[i] = moment;
    }
    at::Tensor along = moment;
    if (rule.muon) {
      const at::Tensor own = share_of(moment, precision);
      auto pass = ops::fused::newton_schulz_forward(own, rule.newton_schulz,
                                                    newton_schulz_precision(precision), precision.keep);
      along = precision.ranks.alone() ? pass.result
                                      : gather_shares(pass.result, moment.size(0), precision.ranks).detach();
      tape.steps_from.push_back(own);
      tape.iterates.push_back(pass.iterates);
    }

    const bool accumulates = rule.norm_placement == NormPlacement::pre;
    const at::Tensor stored = accumulates ? memory.accumulated[i] : memory.weights[i];
    const bool elastic = rule.elastic.pull > 0;
    if (elastic) {
      // (stored + s) - pull (stored + s - anchor), as a step
      const at::Tensor pull = elastic_pull(rule.elastic, memory.importance[i], along);
      along = at::addcmul(along, pull, stored + along - memory.anchor[i], -1);
      tape.pulls.push_back(pull);
    }
    const auto move_anchor = [&](const at::Tensor& now) {
      if (elastic) memory.anchor[i] = at::lerp(now, memory.anchor[i], rule.elastic.anchor_decay);
    };
    if (rule.norm_placement == NormPlacement::none) {
      memory.weights[i] = stored + along;
      move_anchor(memory.weights[i]);
      continue;
    }
    at::Tensor target = memory.initial_norms[i];
    if (rule.norm_target == NormTarget::previous) {
      target = row_norms(stored);
      tape.stored_before.push_back(stored);
    }
    const at::Tensor weight = at::empty_like(stored), norms = per_row(stored);
    const at::Tensor moved = accumulates ? at::empty_like(stored) : at::Tensor();
    for_each_rows(stored, [&](int64_t row, int64_t rows) {
      kernels::row_steps_kernels().step({rows, stored.size(2), at_row(stored, row), at_row(along, row),
                                         target.data_ptr<float>() + row, float(rule.norm_epsilon),
                                         accumulates ? to_row(moved, row) : nullptr, to_row(weight, row),
                                         norms.data_ptr<float>() + row});
    });
    memory.weights[i] = weight;
    if (accumulates) memory.accumulated[i] = moved;
    move_anchor(accumulates ? moved : weight);
    tape.norms.push_back(norms);
    tape.targets.push_back(target);
  }
  tape.weights = memory.weights;
  return tape;
}

DirectionGradients step_backward(MemoryGradients& gradients, const UpdateRule& rule, const UpdateTape& tape,
                                 const UpdatePrecision& precision) {
  DirectionGradients result;
  const bool accumulates = rule.norm_placement == NormPlacement::pre;
  for (size_t i = 0; i < tape.weights.size(); ++i) {
    const at::Tensor& weight = tape.weights[i];
    at::Tensor& stored_gradient = accumulates ? gradients.accumulated[i] : gradients.weights[i];
    at::Tensor weight_gradient = gradients.weights[i];
    at::Tensor moved_gradient = weight_gradient;
    if (rule.norm_placement != NormPlacement::none &&
        (weight_gradient.defined() || stored_gradient.defined())) {
      if (!weight_gradient.defined()) weight_gradient = at::zeros_like(weight);
      weight_gradient = weight_gradient.contiguous();
      const at::Tensor extra =
          accumulates && stored_gradient.defined() ? stored_gradient.contiguous() : at::Tensor();
      const at::Tensor target_gradient = per_row(weight);
      moved_gradient = at::empty_like(weight);
      for_each_rows(weight, [&](int64_t row, int64_t rows) {
        kernels::row_steps_kernels().step_backward(
            {rows, weight.size(2), at_row(weight, row), tape.norms[i].data_ptr<float>() + row,
             tape.targets[i].data_ptr<float>() + row, float(rule.norm_epsilon), at_row(weight_gradient, row),
             extra.defined() ? at_row(extra, row) : nullptr, to_row(moved_gradient, row),
             target_gradient.data_ptr<float>() + row});
      });
      if (rule.elastic.pull > 0) moved_gradient = moved_gradient - moved_gradient * tape.pulls[i];
      if (rule.norm_target == NormTarget::initial) {
        add(gradients.initial_norms[i], target_gradient);
        stored_gradient = moved_gradient;
      } else {
        // d|w| = w / |w|
        stored_gradient = moved_gradient;
        if (!rule.detach_norm) {
          const at::Tensor share = target_gradient / tape.targets[i].clamp_min(1e-30);
          stored_gradient = at::addcmul(moved_gradient, tape.stored_before[i], share.unsqueeze(2));
        }
      }
      if (accumulates) gradients.weights[i] = at::Tensor();
    } else if (rule.elastic.pull > 0 && moved_gradient.defined()) {
      moved_gradient = stored_gradient = moved_gradient - moved_gradient * tape.pulls[i];
    }

    at::Tensor moment_gradient = moved_gradient;
    if (rule.muon && moved_gradient.defined()) {
      const bool alone = precision.ranks.alone();
      const at::Tensor own = ops::fused::newton_schulz_backward(
          tape.steps_from[i], tape.iterates[i],
          alone ? moved_gradient.contiguous() : sum_of_share(moved_gradient, precision.ranks),
          rule.newton_schulz, newton_schulz_precision(precision));
      moment_gradient = own;
      if (!alone) {
        // This rank's part of the gradient is that of its heads, for all.
        moment_gradient = at::zeros_like(moved_gradient);
        const Range share = own_share(moved_gradient.size(0), precision.ranks);
        moment_gradient.narrow(0, share.begin, share.size()).copy_(own);
      }
    }
    if (rule.momentum) {
      at::Tensor& later = gradients.momentum[i];
      if (later.defined()) moment_gradient = moment_gradient.defined() ? moment_gradient + later : later;
      if (moment_gradient.defined()) {
        const int64_t heads = moment_gradient.size(0);
        const at::Tensor along =
            at::bmm(moment_gradient.reshape({heads, 1, -1}), tape.momentum_before[i].reshape({heads, -1, 1}));
        add(result.decay, along.view({heads}));
        later = moment_gradient * tape.decay.view({-1, 1, 1});
      }
    }
    if (moment_gradient.defined()) {
      result.direction.push_back((rule.ascent ? -moment_gradient : moment_gradient).contiguous());
    }
  }
  return result;
}

}  // namespace lact::ttt::fused
