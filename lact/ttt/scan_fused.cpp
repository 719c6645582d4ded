// The whole scan as one autograd function: chunk loop, momentum, orthogonalisation and norms, forward and
// back. Between the passes there is one copy of the weights per update; hidden layers and iterates are kept
// for the backward pass, or computed again (FastWeightRule::recompute), which makes the memory independent of
// the chunks' length.
#include <ATen/ATen.h>
#include <torch/autograd.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/ttt/flat.h"
#include "lact/ttt/fused_steps.h"

namespace lact::ttt::fused {

namespace {

using torch::autograd::variable_list;

/// The tensors in the order in which autograd sees them.
variable_list list_of(const Tensors& in) {
  variable_list all = {in.q, in.k, in.v};
  for (const auto* group : {&in.rates, &in.memory.weights, &in.memory.initial_norms, &in.memory.momentum,
                            &in.memory.accumulated}) {
    all.insert(all.end(), group->begin(), group->end());
  }
  if (in.beta.defined()) all.push_back(in.beta);
  return all;
}

Tensors tensors_of(const variable_list& all, const Tape& tape) {
  size_t next = 3;
  const auto take = [&](bool present) {
    Matrices group;
    for (size_t i = 0; present && i < tape.matrices; ++i) group.push_back(all[next++]);
    return group;
  };
  Tensors tensors;
  tensors.q = all[0], tensors.k = all[1], tensors.v = all[2];
  tensors.rates = take(true);
  tensors.memory.weights = take(true);
  tensors.memory.initial_norms = take(true);
  tensors.memory.momentum = take(tape.rule.momentum);
  tensors.memory.accumulated = take(tape.rule.norm_placement == NormPlacement::pre);
  if (tape.rule.momentum) tensors.beta = all[next];
  return tensors;
}

bool any_defined(const PerMatrix& gradients) {
  return std::any_of(gradients.begin(), gradients.end(), [](const at::Tensor& x) { return x.defined(); });
}

at::Tensor shaped(const at::Tensor& gradient, const at::Tensor& like) {
  return gradient.defined() ? gradient.reshape(like.sizes()).to(like.scalar_type()) : at::Tensor();
}

constexpr size_t kMostMatrices = 3;
constexpr size_t kMostTensors = 4 + 5 * kMostMatrices;

struct FusedScan : torch::autograd::Function<FusedScan> {
  /// Autograd looks for tensors among the arguments, not inside of a list.
  static variable_list apply_all(const c10::intrusive_ptr<Tape>& tape, variable_list inputs) {
    inputs.resize(kMostTensors, at::empty({0}));
    return [&]<size_t... Index>(std::index_sequence<Index...>) { return apply(tape, inputs[Index]...); }
    (std::make_index_sequence<kMostTensors>());
  }

  template <class... Inputs>
  static variable_list forward(torch::autograd::AutogradContext* context,
                               const c10::intrusive_ptr<Tape>& tape, const Inputs&... all) {
    const variable_list inputs = {all...};
    context->set_materialize_grads(false);
    if (tape->needs_gradient) {
      context->save_for_backward(inputs);
      context->saved_data["tape"] = c10::IValue::make_capsule(tape);
    }
    return run(inputs, *tape);
  }

  /// The output, then the memory after the last step: weights, momentum, accumulated.
  static variable_list run(const variable_list& inputs, Tape& tape) {
    at::NoGradGuard no_grad;
    const Tensors in = tensors_of(inputs, tape);
    FlatMemory memory = flat(in.memory);
    memory.anchor = tape.anchor, memory.importance = tape.importance;
    variable_list outputs = {run_forward(in, tape, memory)};
    const auto give = [&](const PerMatrix& matrices, const Matrices& like) {
      for (size_t i = 0; i < matrices.size(); ++i) {
        const at::Tensor result = matrices[i].view(like[i].sizes());
        // An input that is handed on unchanged must not be an output of the function.
        outputs.push_back(result.is_alias_of(like[i]) ? result.clone() : result);
      }
    };
    give(memory.weights, in.memory.weights);
    give(memory.momentum, in.memory.momentum);
    give(memory.accumulated, in.memory.accumulated);
    tape.anchor = memory.anchor, tape.importance = memory.importance;
    return outputs;
  }

  static variable_list backward(torch::autograd::AutogradContext* context, variable_list gradients) {
    const auto tape = c10::static_intrusive_pointer_cast<Tape>(context->saved_data["tape"].toCapsule());
    LACT_CHECK(!tape->versions.empty(), "[ttt] the backward pass of a fused scan can run only once");
    at::NoGradGuard no_grad;
    const Tensors in = tensors_of(context->get_saved_variables(), *tape);

    MemoryGradients memory;
    size_t next = 1;
    const auto take = [&](const Matrices& like) {
      PerMatrix group;
      for (size_t i = 0; i < like.size(); ++i, ++next) {
        group.push_back(gradients[next].defined() ? flat(gradients[next]).clone() : at::Tensor());
      }
      if (any_defined(group)) fill_missing(group, flat(like));
      return group;
    };
    memory.weights = take(in.memory.weights);
    memory.momentum = take(in.memory.momentum);
    memory.accumulated = take(in.memory.accumulated);
    memory.initial_norms.resize(tape->matrices);

    TokenGradients tokens;
    tokens.q = gradients[0].defined() ? token_room(in.q, in.q.size(3), *tape, &ChunkStep::read)
                                      : at::zeros_like(in.q);
    const auto written_room = [&](const at::Tensor& like) {
      if (has_several_sides(*tape)) return at::zeros(like.sizes(), like.options().dtype(at::kFloat));
      return token_room(like, like.size(3), *tape, &ChunkStep::written);
    };
    tokens.k = written_room(in.k);
    tokens.v = written_room(in.v);
    for (const auto& rate : flat_rows(in.rates)) tokens.rates.push_back(at::zeros_like(rate));
    if (in.beta.defined()) tokens.beta = at::zeros(in.beta.sizes(), in.beta.options().dtype(at::kFloat));
    run_backward(in, *tape, gradients[0], memory, tokens);
    tape->versions.clear();
    tape->residuals.clear();

    Tensors result;
    result.q = tokens.q, result.k = shaped(tokens.k, in.k), result.v = shaped(tokens.v, in.v);
    const auto shape_all = [&](const PerMatrix& from, const Matrices& like) {
      Matrices shaped_all;
      for (size_t i = 0; i < like.size(); ++i) shaped_all.push_back(shaped(from[i], like[i]));
      return shaped_all;
    };
    result.rates = shape_all(tokens.rates, in.rates);
    result.memory.weights = shape_all(memory.weights, in.memory.weights);
    result.memory.initial_norms = shape_all(memory.initial_norms, in.memory.initial_norms);
    result.memory.momentum = shape_all(memory.momentum, in.memory.momentum);
    result.memory.accumulated = shape_all(memory.accumulated, in.memory.accumulated);
    variable_list list = list_of(result);
    if (in.beta.defined()) list.push_back(shaped(tokens.beta, in.beta));
    list.resize(kMostTensors);
    list.insert(list.begin(), at::Tensor());  // the tape's place
    return list;
  }
};

/// Below this many tokens packing the weights costs more than the products.
constexpr int64_t kFewest = 32;

}  // namespace

bool fits(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
          const Memory& memory) {
  const auto type = inputs.k.scalar_type();
  const bool tokens_fit = inputs.k.is_cpu() && (type == at::kFloat || type == at::kBFloat16) &&
                          inputs.q.scalar_type() == type && inputs.v.scalar_type() == type &&
                          inputs.k.dim() == 4;
  const bool loss_fits = rule.loss.negative_gradient_is_value() || rule.loss.negative_gradient_is_residual();
  if (!tokens_fit || !loss_fits || restarts(schedule)) return false;
  if (memory.weights.size() > kMostMatrices) return false;
  for (const auto& weight : memory.weights) {
    if (weight.scalar_type() != at::kFloat) return false;
  }
  for (const auto& rate : inputs.rates) {
    if (!rate.defined() || rate.size(-1) != 1) return false;
  }
  // The published rounding of every operation is the reference's.
  const bool rounds =
      rule.update.muon && rule.update.newton_schulz.iteration_type == ops::IterationType::bfloat16;
  if (rounds && type == at::kFloat) return false;
  int64_t tokens = 0;
  for (const auto& step : schedule) tokens += step.tokens.size();
  return tokens >= kFewest && rule.network.passes({1, 1, 1, 1}, false) != nullptr;
}

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  auto tape = c10::make_intrusive<Tape>();
  tape->rule = rule.update;
  tape->matrices = memory.weights.size();
  tape->steps = steps_of(schedule, inputs, rule.update.steps);
  tape->context = inputs.context;
  tape->residual = rule.loss.negative_gradient_is_residual();
  tape->anchor = flat(memory.anchor), tape->importance = flat(memory.importance);
  const bool bf16 = inputs.k.scalar_type() == at::kBFloat16;
  // The first matrix takes tokens of width `in` to the hidden layer, or to the output where there is none.
  const int64_t heads = inputs.k.size(0) * inputs.k.size(1);
  tape->passes =
      rule.network.passes({heads, inputs.k.size(3), memory.weights.front().size(2), inputs.v.size(3)}, bf16);

  Tensors in = {inputs.q, inputs.k, inputs.v, inputs.beta, inputs.rates, memory};
  in.memory.anchor = in.memory.importance = {};
  const variable_list list = list_of(in);
  tape->needs_gradient =
      at::GradMode::is_enabled() &&
      std::any_of(list.begin(), list.end(), [](const at::Tensor& x) { return x.requires_grad(); });
  tape->keep = tape->needs_gradient && !rule.recompute;
  tape->precision = {bf16, tape->keep, inputs.context};

  const variable_list out =
      tape->needs_gradient ? FusedScan::apply_all(tape, list) : FusedScan::run(list, *tape);
  size_t next = 1;
  for (auto* group : {&memory.weights, &memory.momentum, &memory.accumulated}) {
    for (auto& matrix : *group) matrix = out[next++];
  }
  for (size_t i = 0; i < memory.anchor.size(); ++i) {
    memory.anchor[i] = tape->anchor[i].view(memory.anchor[i].sizes());
    memory.importance[i] = tape->importance[i].view(memory.importance[i].sizes());
  }
  return out[0];
}

}  // namespace lact::ttt::fused
