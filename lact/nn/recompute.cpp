#include "lact/nn/recompute.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>

#include <cmath>

#include "lact/base/error.h"

namespace lact::nn {

namespace {

/// Keeps the function alive from the forward to the backward pass.
struct Kept : torch::CustomClassHolder {
  std::function<at::Tensor(const std::vector<at::Tensor>&)> function;
  Loan loan;
};

/// With a loan, a rank that found something not finite and left would leave the others waiting for its turn
/// as a lender: it goes on with NaN, and all find the loss not finite.
at::Tensor run_on_loan(const Kept& kept, const std::vector<at::Tensor>& inputs) {
  if (!kept.loan.lender) return kept.function(inputs);
  kept.loan.begin(Pass::forward);
  at::Tensor y;
  try {
    y = kept.function(inputs);
  } catch (const NonFinite&) {
    y = at::full_like(inputs[0], std::nan(""));
  }
  kept.loan.end(Pass::forward);
  return y;
}

/// An input without elements that needs a gradient. A function is recorded only if one of its inputs does,
/// but here it is often the parameters inside of the function alone that need one.
at::Tensor recorded() { return at::empty({0}, at::kFloat).requires_grad_(); }

struct RecomputeFunction : torch::autograd::Function<RecomputeFunction> {
  template <class... Inputs>
  static at::Tensor forward(torch::autograd::AutogradContext* context, const c10::intrusive_ptr<Kept>& kept,
                            const at::Tensor& /*recorded*/, const Inputs&... inputs) {
    context->save_for_backward({inputs...});
    context->saved_data["function"] = c10::IValue::make_capsule(kept);
    context->saved_data["needed"] = c10::List<bool>({inputs.requires_grad()...});
    at::NoGradGuard no_grad;
    return run_on_loan(*kept, {inputs...});
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto kept = c10::static_intrusive_pointer_cast<Kept>(context->saved_data["function"].toCapsule());
    const auto needed = context->saved_data["needed"].toBoolList();
    std::vector<at::Tensor> inputs = context->get_saved_variables();
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = inputs[i].detach().requires_grad_(needed[i]);
    at::AutoGradMode with_grad(true);
    kept->loan.begin(Pass::backward);
    const at::Tensor y = kept->function(inputs);
    if (y.requires_grad()) torch::autograd::backward({y}, {gradients[0]});
    kept->loan.end(Pass::backward);
    torch::autograd::variable_list list(2);  // the places of the function and of recorded()
    for (const auto& input : inputs) list.push_back(input.grad());
    return list;
  }
};

}  // namespace

at::Tensor recompute(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& x,
                     const Loan& loan) {
  auto kept = c10::make_intrusive<Kept>();
  kept->function = [function](const std::vector<at::Tensor>& inputs) { return function(inputs[0]); };
  kept->loan = loan;
  if (!at::GradMode::is_enabled()) return run_on_loan(*kept, {x});
  return RecomputeFunction::apply(kept, recorded(), x);
}

at::Tensor recompute(const std::function<at::Tensor(const ThreeInputs&)>& function, const ThreeInputs& inputs,
                     const Loan& loan) {
  auto kept = c10::make_intrusive<Kept>();
  kept->function = [function](const std::vector<at::Tensor>& list) {
    return function(ThreeInputs{list[0], list[1], list[2]});
  };
  kept->loan = loan;
  if (!at::GradMode::is_enabled()) return run_on_loan(*kept, {inputs[0], inputs[1], inputs[2]});
  return RecomputeFunction::apply(kept, recorded(), inputs[0], inputs[1], inputs[2]);
}

void set_recompute_below(torch::nn::Module& module, Recompute what) {
  for (const auto& child : module.children()) {
    if (auto* part = dynamic_cast<Recomputes*>(child.get())) part->set_recompute(what);
    set_recompute_below(*child, what);
  }
}

}  // namespace lact::nn
