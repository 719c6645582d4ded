#include "lact/parallel/collectives.h"

#include <torch/autograd.h>

namespace lact::parallel {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What a backward pass needs besides tensors.
struct Route : torch::CustomClassHolder {
  Route(Group group, const char* what) : group(std::move(group)), what(what) {}
  Group group;
  const char* what;
  std::vector<int64_t> to, from;
};

c10::intrusive_ptr<Route> route_of(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<Route>(context->saved_data["route"].toCapsule());
}

at::Tensor summed(const at::Tensor& x, const Route& route) {
  at::Tensor result = x.detach().clone(at::MemoryFormat::Contiguous);
  route.group.sum(result, route.what);
  return result;
}

struct Sum : torch::autograd::Function<Sum> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const c10::intrusive_ptr<Route>& route) {
    context->saved_data["route"] = c10::IValue::make_capsule(route);
    return summed(x, *route);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {summed(gradients[0], *route_of(context)), {}};
  }
};

struct Exchange : torch::autograd::Function<Exchange> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const c10::intrusive_ptr<Route>& route) {
    context->saved_data["route"] = c10::IValue::make_capsule(route);
    return route->group.exchange(x, route->to, route->from, route->what);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto route = route_of(context);
    return {route->group.exchange(gradients[0], route->from, route->to, route->what), {}};
  }
};

struct Tie : torch::autograd::Function<Tie> {
  static at::Tensor forward(AutogradContext*, const at::Tensor& x, const at::Tensor& /*other*/) {
    return x.view(x.sizes());
  }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    return {gradients[0], at::Tensor()};
  }
};

/// All ranks take part in the way back or none: it does not depend on where a rank's tensor comes from.
at::Tensor differentiable(const at::Tensor& x) {
  return at::GradMode::is_enabled() && !x.requires_grad() ? x.detach().requires_grad_() : x;
}

}  // namespace

at::Tensor tie(const at::Tensor& x, const std::vector<at::Tensor>& others) {
  at::Tensor tied = x;
  for (const auto& other : others) tied = Tie::apply(tied, other);
  return tied;
}

at::Tensor sum(const at::Tensor& x, const Group& group, const char* what) {
  if (group.alone()) return x;
  return Sum::apply(differentiable(x), c10::make_intrusive<Route>(group, what));
}

at::Tensor exchange(const at::Tensor& x, const std::vector<int64_t>& to, const std::vector<int64_t>& from,
                    const Group& group, const char* what) {
  if (group.alone()) return x;
  auto route = c10::make_intrusive<Route>(group, what);
  route->to = to, route->from = from;
  return Exchange::apply(differentiable(x), route);
}

}  // namespace lact::parallel
