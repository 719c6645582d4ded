// Calls an autograd function only where a gradient may be asked for: LibTorch's bookkeeping takes longer than
// many an operation on one token.
#pragma once

#include <torch/autograd.h>

#include <type_traits>

namespace lact::ops {

template <class Argument>
bool wants_gradient(const Argument& argument) {
  if constexpr (std::is_same_v<Argument, at::Tensor>) return argument.defined() && argument.requires_grad();
  return false;
}

/// Function::apply(arguments...), or only its forward pass.
template <class Function, class... Arguments>
at::Tensor apply_function(const Arguments&... arguments) {
  if (at::GradMode::is_enabled() && (wants_gradient(arguments) || ...)) return Function::apply(arguments...);
  torch::autograd::AutogradContext forgotten;
  return Function::forward(&forgotten, arguments...);
}

}  // namespace lact::ops
