#include "lact/nn/recompute.h"

#include <torch/autograd.h>
#include <torch/custom_class.h>

namespace lact::nn {

namespace {

/// Keeps the function alive from the forward to the backward pass.
struct Kept : torch::CustomClassHolder {
  std::function<at::Tensor(const at::Tensor&)> function;
};

struct RecomputeFunction : torch::autograd::Function<RecomputeFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const c10::intrusive_ptr<Kept>& kept) {
    context->save_for_backward({x});
    context->saved_data["function"] = c10::IValue::make_capsule(kept);
    at::NoGradGuard no_grad;
    return kept->function(x);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto kept = c10::static_intrusive_pointer_cast<Kept>(context->saved_data["function"].toCapsule());
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_(true);
    at::AutoGradMode with_grad(true);
    const at::Tensor y = kept->function(x);
    torch::autograd::backward({y}, {gradients[0]});
    return {x.grad(), at::Tensor()};
  }
};

}  // namespace

at::Tensor recompute(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& x) {
  if (!at::GradMode::is_enabled()) return function(x);
  auto kept = c10::make_intrusive<Kept>();
  kept->function = function;
  return RecomputeFunction::apply(x, kept);
}

void set_recompute_below(torch::nn::Module& module, Recompute what) {
  for (const auto& child : module.children()) {
    if (auto* part = dynamic_cast<Recomputes*>(child.get())) part->set_recompute(what);
    set_recompute_below(*child, what);
  }
}

}  // namespace lact::nn
