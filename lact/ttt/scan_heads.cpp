// The scan of small chunks as one autograd function (head_run.h does the work).
#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <algorithm>

#include "lact/ttt/flat.h"
#include "lact/ttt/head_run.h"
#include "lact/ttt/scan_forms.h"

namespace lact::ttt::heads {

namespace {

using torch::autograd::variable_list;

constexpr size_t kMostMatrices = 6;
constexpr size_t kMostTensors = 4 + 4 * kMostMatrices;
/// Below this many tokens packing the weights costs more than the products.
constexpr int64_t kFewest = 32;
/// Versions of the weights that the backward pass makes from one that is kept.
constexpr int64_t kLongestSegment = 8;

struct Plan : torch::CustomClassHolder {
  HeadPlan plan;
};

/// Autograd takes no undefined tensors among the arguments.
at::Tensor or_nothing(const at::Tensor& x) { return x.defined() ? x : at::empty({0}); }

/// What autograd sees, in this order: q, k, v, beta, then of each matrix weight, norms, momentum and rates.
variable_list list_of(const ScanInputs& inputs, const Memory& memory) {
  variable_list all = {inputs.q, inputs.k, inputs.v, or_nothing(inputs.beta)};
  for (size_t i = 0; i < memory.weights.size(); ++i) {
    const auto of = [&](const Matrices& group) { return group.empty() ? at::Tensor() : group[i]; };
    all.push_back(memory.weights[i]);
    all.push_back(or_nothing(of(memory.initial_norms)));
    all.push_back(or_nothing(of(memory.momentum)));
    all.push_back(or_nothing(inputs.rates[i]));
  }
  all.resize(kMostTensors, at::empty({0}));
  return all;
}

/// The same of the matrices, with batch and heads in one dimension and undefined what the plan does not use.
HeadMatrices matrices_of(const variable_list& all, const HeadPlan& plan) {
  HeadMatrices matrices;
  for (size_t i = 0; i < plan.places.size(); ++i) {
    const at::Tensor* own = &all[4 + 4 * i];
    const bool norms = plan.rule.norm_placement != NormPlacement::none;
    matrices.weights.push_back(fused::flat(own[0]));
    matrices.norms.push_back(plan.written[i] && norms ? fused::flat(own[1]) : at::Tensor());
    matrices.momentum.push_back(plan.written[i] && plan.rule.momentum ? fused::flat(own[2]) : at::Tensor());
    matrices.rates.push_back(plan.written[i] ? fused::flat(own[3]) : at::Tensor());
  }
  if (plan.rule.momentum) matrices.beta = fused::flat(all[3]);
  return matrices;
}

Matrices like(const Matrices& matrices) {
  Matrices result;
  for (const auto& matrix : matrices) result.push_back(matrix.defined() ? at::zeros_like(matrix) : matrix);
  return result;
}

/// Tokens [B, H, T, W] whose heads lie beside each other, as projections want them.
at::Tensor new_tokens(const at::Tensor& of, at::ScalarType type) {
  return at::zeros({of.size(0), of.size(2), of.size(1), of.size(3)}, of.options().dtype(type))
      .transpose(1, 2);
}

struct HeadScan : torch::autograd::Function<HeadScan> {
  /// Autograd looks for tensors among the arguments, not inside of a list.
  static variable_list apply_all(const c10::intrusive_ptr<Plan>& plan, const variable_list& inputs) {
    return [&]<size_t... Index>(std::index_sequence<Index...>) { return apply(plan, inputs[Index]...); }
    (std::make_index_sequence<kMostTensors>());
  }

  template <class... Inputs>
  static variable_list forward(torch::autograd::AutogradContext* context,
                               const c10::intrusive_ptr<Plan>& plan, const Inputs&... all) {
    const variable_list inputs = {all...};
    at::Tensor versions;
    const variable_list outputs = run(plan->plan, inputs, &versions);
    context->set_materialize_grads(false);
    variable_list saved = inputs;
    saved.push_back(versions);
    context->save_for_backward(saved);
    context->saved_data["plan"] = c10::IValue::make_capsule(plan);
    return outputs;
  }

  /// The output, then of each matrix that is written the weight behind the last step and the momentum.
  static variable_list run(const HeadPlan& plan, const variable_list& inputs, at::Tensor* versions) {
    at::NoGradGuard no_grad;
    const HeadMatrices matrices = matrices_of(inputs, plan);
    const HeadRun head_run(plan, inputs[0], inputs[1], inputs[2], matrices);
    if (versions) *versions = head_run.new_versions();
    variable_list outputs = {new_tokens(inputs[0], inputs[0].scalar_type())};
    HeadMatrices behind;
    behind.momentum = like(matrices.momentum);
    for (size_t i = 0; i < plan.places.size(); ++i) {
      behind.weights.push_back(plan.written[i] ? at::empty_like(matrices.weights[i]) : at::Tensor());
    }
    head_run.forward(outputs[0], behind, versions ? *versions : at::Tensor());
    for (size_t i = 0; i < plan.places.size(); ++i) {
      if (!plan.written[i]) continue;
      outputs.push_back(behind.weights[i].view(inputs[4 + 4 * i].sizes()));
      if (plan.rule.momentum) outputs.push_back(behind.momentum[i].view(inputs[4 + 4 * i].sizes()));
    }
    return outputs;
  }

  static variable_list backward(torch::autograd::AutogradContext* context, variable_list incoming) {
    const auto held = c10::static_intrusive_pointer_cast<Plan>(context->saved_data["plan"].toCapsule());
    const HeadPlan& plan = held->plan;
    at::NoGradGuard no_grad;
    const variable_list in = context->get_saved_variables();
    const HeadMatrices matrices = matrices_of(in, plan);

    // What several steps give to one token is added up in float32.
    const auto type = plan.rule.steps > 1 ? at::kFloat : in[1].scalar_type();
    HeadGradients gradients = {
        new_tokens(in[0], in[0].scalar_type()), new_tokens(in[1], type), new_tokens(in[2], type), {}};
    auto& [weights, norms, momentum, rates, beta] = gradients.matrices;
    weights = like(matrices.weights), norms = like(matrices.norms), momentum = like(matrices.momentum),
    rates = like(matrices.rates);
    if (matrices.beta.defined()) beta = at::zeros_like(matrices.beta);
    size_t next = 1;
    const auto take = [&](const at::Tensor& to) {
      const at::Tensor& gradient = incoming[next++];
      if (gradient.defined()) to.copy_(fused::flat(gradient));
    };
    for (size_t i = 0; i < plan.places.size(); ++i) {
      if (!plan.written[i]) continue;
      take(weights[i]);
      if (plan.rule.momentum) take(momentum[i]);
    }
    HeadRun(plan, in[0], in[1], in[2], matrices).backward(incoming[0], in[kMostTensors], gradients);

    variable_list result(kMostTensors + 1);  // the first is the plan's place
    const auto give = [&](size_t place, const at::Tensor& gradient) {
      if (gradient.defined()) {
        result[place + 1] = gradient.reshape(in[place].sizes()).to(in[place].scalar_type());
      }
    };
    give(0, gradients.q), give(1, gradients.k), give(2, gradients.v), give(3, beta);
    for (size_t i = 0; i < plan.places.size(); ++i) {
      give(4 + 4 * i, weights[i]), give(5 + 4 * i, norms[i]);
      give(6 + 4 * i, momentum[i]), give(7 + 4 * i, rates[i]);
    }
    return result;
  }
};

}  // namespace

bool fits(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
          const Memory& memory) {
  const UpdateRule& update = rule.update;
  if (rule.network.head_passes() == nullptr || memory.weights.size() > kMostMatrices) return false;
  if (update.muon || update.elastic.pull > 0 || update.norm_placement == NormPlacement::pre) return false;
  if (update.norm_placement == NormPlacement::post && update.norm_target != NormTarget::initial) return false;
  if (!rule.loss.negative_gradient_is_value() && !rule.loss.negative_gradient_is_residual()) return false;
  const auto type = inputs.k.scalar_type();
  const bool tokens_fit = inputs.k.is_cpu() && (type == at::kFloat || type == at::kBFloat16) &&
                          inputs.q.scalar_type() == type && inputs.v.scalar_type() == type &&
                          inputs.k.dim() == 4 && inputs.k.size(3) == inputs.v.size(3);
  if (!tokens_fit || restarts(schedule)) return false;
  for (const auto& weight : memory.weights) {
    if (weight.scalar_type() != at::kFloat) return false;
  }
  for (const auto& rate : inputs.rates) {
    if (rate.defined() && rate.size(-1) != 1) return false;
  }
  int64_t tokens = 0;
  for (const auto& step : schedule) tokens += step.tokens.size();
  return tokens >= kFewest;
}

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  auto held = c10::make_intrusive<Plan>();
  HeadPlan& plan = held->plan;
  plan.make_passes = rule.network.head_passes();
  // The first matrix takes tokens of width `in` to the hidden layer, or to the output where there is none.
  plan.places =
      fused::matrix_places(rule.network, inputs.k.size(3), memory.weights.front().size(2), inputs.v.size(3));
  plan.written = written_matrices(rule.network, rule.update);
  plan.rule = rule.update;
  plan.residual = rule.loss.negative_gradient_is_residual();
  plan.steps = fused::steps_of(schedule, inputs, rule.update.steps);
  plan.num_versions = 0;
  int64_t written = 0;
  for (auto& step : plan.steps) {
    step.version = size_t(plan.num_versions);
    plan.num_versions += step.written.empty() ? 0 : 1;
    written += step.written.size();
  }
  // What is kept should not be much more than the tokens themselves: about four times as many numbers.
  const int64_t kept = plan.num_versions * (plan.places.back().offset + plan.places.back().size());
  const int64_t room = 4 * std::max<int64_t>(written, 1) * inputs.k.size(3);
  plan.segment =
      rule.recompute ? kLongestSegment : std::clamp<int64_t>((kept + room - 1) / room, 1, kLongestSegment);

  const variable_list list = list_of(inputs, memory);
  const bool needs_gradient =
      at::GradMode::is_enabled() &&
      std::any_of(list.begin(), list.end(), [](const at::Tensor& x) { return x.requires_grad(); });
  const variable_list out =
      needs_gradient ? HeadScan::apply_all(held, list) : HeadScan::run(plan, list, nullptr);
  size_t next = 1;
  for (size_t i = 0; i < memory.weights.size(); ++i) {
    if (!plan.written[i]) continue;
    memory.weights[i] = out[next++];
    if (rule.update.momentum) memory.momentum[i] = out[next++];
  }
  return out[0];
}

}  // namespace lact::ttt::heads
