// Initial values (paper, "Model initializations").
#pragma once

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}

namespace lact::nn {

class Linear;

/// Standard deviation of the linear layers' weights.
inline constexpr double kLinearStd = 0.02;

/// Weights from N(0, std²), biases zero.
void init_linear(Linear& layer, double std);

/// The same for `module` and everything below it.
void init_linears(torch::nn::Module& module, double std);

/// Weights and bias zero: the layer starts without effect.
void init_zero(Linear& layer);

/// N(0, (gain / sqrt(fan_in))²) in place; fan_in is the last dimension.
void init_fan_in(at::Tensor& weight, double gain);

}  // namespace lact::nn
