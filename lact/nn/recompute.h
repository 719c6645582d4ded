// Activation checkpointing: memory for time. Only the input of a function is kept for the backward pass,
// which computes the function again.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace lact::nn {

/// function(x). In the backward pass the function runs again on the same x; gradients of parameters that it
/// uses are added to them there. Without gradients it is just the call.
at::Tensor recompute(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& x);

}  // namespace lact::nn
