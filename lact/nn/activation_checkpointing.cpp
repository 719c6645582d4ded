// A cheap step is an autograd function that keeps its inputs. When the gradient of the result behind it
// arrives, the step runs again, once for both: its value fills the memory that others have saved, and its
// recorded graph is the backward pass of the step.
#include <ATen/ATen.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/nn/recompute.h"
#include "lact/ops/dispatch/dtypes.h"

namespace lact::nn {

namespace {

/// Lets `to` show the memory of `from`, which lives as long as `to` does.
void share_memory(const at::Tensor& to, const at::Tensor& from) {
  LACT_ASSERT(to.sizes() == from.sizes() && to.strides() == from.strides() &&
              to.storage_offset() == from.storage_offset() && to.scalar_type() == from.scalar_type());
  auto* owner = new c10::Storage(from.storage());
  const auto release = [](void* storage) { delete static_cast<c10::Storage*>(storage); };
  auto* memory = to.storage().unsafeGetStorageImpl();
  memory->set_data_ptr(
      {const_cast<void*>(static_cast<const void*>(from.storage().data())), owner, release, from.device()});
  memory->set_nbytes(from.storage().nbytes());
}

void free_memory(const at::Tensor& tensor) {
  auto* memory = tensor.storage().unsafeGetStorageImpl();
  memory->set_data_ptr(at::DataPtr(nullptr, tensor.device()));
  memory->set_nbytes(0);
}

}  // namespace

struct ActivationCheckpointing::Part {
  Function function;
  std::vector<at::Tensor> inputs;  ///< outside of the graph
  at::Tensor again;  ///< the value with a graph of its own, until the backward pass is done with it

  void run_again() {
    if (again.defined()) return;
    LACT_CHECK(!inputs.empty(), "[recompute] the backward pass of a recomputed part can run only once");
    at::AutoGradMode with_grad(true);
    again = function(inputs);
  }
};

struct ActivationCheckpointing::Step : torch::autograd::Function<ActivationCheckpointing::Step> {
  struct Holder : torch::CustomClassHolder {
    std::shared_ptr<Part> part;
  };

  template <class... Inputs>
  static at::Tensor forward(torch::autograd::AutogradContext* context,
                            const c10::intrusive_ptr<Holder>& holder, const Inputs&... inputs) {
    context->saved_data["part"] = c10::IValue::make_capsule(holder);
    return holder->part->function({inputs...});
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    Part& part = *c10::static_intrusive_pointer_cast<Holder>(context->saved_data["part"].toCapsule())->part;
    part.run_again();
    torch::autograd::backward({part.again}, {gradients[0]});
    torch::autograd::variable_list list = {at::Tensor()};  // the holder's place
    for (const auto& input : part.inputs) list.push_back(input.grad());
    part = {};
    return list;
  }
};

ActivationCheckpointing::ActivationCheckpointing(bool on) : on_(on && at::GradMode::is_enabled()) {}

at::Tensor ActivationCheckpointing::widen(const at::Tensor& x) {
  if (x.scalar_type() == ops::wide_type(x.scalar_type())) return x;
  return run([](const std::vector<at::Tensor>& in) { return ops::at_least_float(in[0]); }, {x});
}

at::Tensor ActivationCheckpointing::run(const Function& function, const std::vector<at::Tensor>& inputs) {
  const bool recorded = std::any_of(inputs.begin(), inputs.end(),
                                    [](const at::Tensor& input) { return input.requires_grad(); });
  if (!on_ || !recorded) return function(inputs);
  LACT_ASSERT(inputs.size() == 1 || inputs.size() == 2);
  const auto part = std::make_shared<Part>();
  part->function = function;
  for (const auto& input : inputs) {
    part->inputs.push_back(input.detach().requires_grad_(input.requires_grad()));
  }
  const auto holder = c10::make_intrusive<Step::Holder>();
  holder->part = part;
  const at::Tensor value =
      inputs.size() == 1 ? Step::apply(holder, inputs[0]) : Step::apply(holder, inputs[0], inputs[1]);
  for (const auto& input : inputs) LACT_ASSERT(!value.is_alias_of(input));
  made_.push_back({part, value.detach()});
  return value;
}

void ActivationCheckpointing::free_until_backward_of(const at::Tensor& result) {
  if (made_.empty()) return;
  LACT_ASSERT(result.requires_grad());
  for (const auto& made : made_) free_memory(made.value);
  const auto waiting = std::make_shared<std::vector<Made>>(std::move(made_));
  made_.clear();
  result.register_hook([waiting](const at::Tensor&) {
    for (const auto& [part, value] : *waiting) {
      part->run_again();
      share_memory(value, part->again);
    }
    waiting->clear();
  });
}

}  // namespace lact::nn
