// From a function of tensors that LibTorch can differentiate to the kernels of a torch operator: one without
// gradients, and a backward operator of its own, which any autograd glue can call and trace.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/autograd.h>

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lact/base/error.h"

namespace lact::python {

using Tensors = std::vector<at::Tensor>;

/// Of kernels: LibTorch's own class at first, the standard's in later versions.
template <class T>
using Optional = decltype(std::declval<const c10::IValue&>().toOptional<T>());

/// A dispatcher that has come below autograd leaves its keys switched off; a backward operator needs them.
class GradientsOn {
 public:
  GradientsOn() : mode_(true), keys_(with_autograd()) {}

 private:
  static c10::impl::LocalDispatchKeySet with_autograd() {
    auto keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset;
    return keys;
  }
  at::AutoGradMode mode_;
  c10::impl::ForceDispatchKeyGuard keys_;
};

/// Every tensor of a function's arguments or results, in order; undefined ones are left out.
template <class Visit>
void each_tensor(at::Tensor& tensor, const Visit& visit) {
  if (tensor.defined()) visit(tensor);
}
template <class Visit>
void each_tensor(Optional<at::Tensor>& tensor, const Visit& visit) {
  if (tensor.has_value()) each_tensor(*tensor, visit);
}
template <class Visit>
void each_tensor(Tensors& tensors, const Visit& visit) {
  for (auto& tensor : tensors) each_tensor(tensor, visit);
}
template <class... Parts, class Visit>
void each_tensor(std::tuple<Parts...>& parts, const Visit& visit) {
  std::apply([&](auto&... part) { (each_tensor(part, visit), ...); }, parts);
}
template <class Other, class Visit>
void each_tensor(Other&, const Visit&) {}

/// What an argument becomes that is kept: views of lists of tensors become lists.
template <class Argument>
using Kept = std::conditional_t<std::is_same_v<std::decay_t<Argument>, at::TensorList>, Tensors,
                                std::decay_t<Argument>>;

template <class Argument>
Kept<Argument> kept(const Argument& argument) {
  if constexpr (std::is_same_v<Kept<Argument>, Tensors>) {
    return argument.vec();
  } else {
    return argument;
  }
}

template <auto function>
struct Differentiable;

/// Kernels return contiguous tensors, whatever they were given: that is what shapes without numbers promise.

template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Differentiable<function> {
  static Result forward(Arguments... arguments) {
    const at::NoGradGuard no_grad;
    Result result = function(arguments...);
    each_tensor(result, [](at::Tensor& tensor) { tensor = tensor.contiguous(); });
    return result;
  }

  /// One gradient for each tensor among the arguments, from one for each tensor of the result; none is zero.
  /// The function runs once more: nothing is kept between the passes but its arguments.
  static Tensors backward(const c10::List<Optional<at::Tensor>>& gradients, Arguments... arguments) {
    const GradientsOn on;
    std::tuple<Kept<Arguments>...> leaves(kept(arguments)...);
    Tensors inputs, outputs, slopes;
    each_tensor(leaves, [&](at::Tensor& tensor) {
      tensor = tensor.detach();
      if (tensor.is_floating_point()) tensor.requires_grad_();
      inputs.push_back(tensor);
    });
    auto result = std::apply(function, leaves);
    size_t count = 0;
    each_tensor(result, [&](at::Tensor& tensor) {
      LACT_CHECK(count < gradients.size(), "[backward] there are {} gradients for more results",
                 gradients.size());
      const Optional<at::Tensor> gradient = gradients.get(count++);
      if (!gradient.has_value() || !gradient->defined() || !tensor.requires_grad()) return;
      outputs.push_back(tensor);
      slopes.push_back(*gradient);
    });
    return gradients_of(inputs, outputs, slopes);
  }

 private:
  static Tensors gradients_of(const Tensors& inputs, const Tensors& outputs, const Tensors& slopes) {
    Tensors wanted;
    for (const auto& input : inputs) {
      if (input.requires_grad()) wanted.push_back(input);
    }
    Tensors found(wanted.size());
    if (!outputs.empty() && !wanted.empty()) {
      found = torch::autograd::grad(outputs, wanted, slopes, /*retain_graph=*/{},
                                    /*create_graph=*/false, /*allow_unused=*/true);
    }
    Tensors all;
    size_t next = 0;
    for (const auto& input : inputs) {
      const at::Tensor gradient = input.requires_grad() ? found[next++] : at::Tensor();
      all.push_back(gradient.defined() ? gradient.contiguous() : at::zeros(input.sizes(), input.options()));
    }
    return all;
  }
};

}  // namespace lact::python
