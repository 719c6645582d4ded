#include "lact/nn/init.h"

#include <torch/nn/module.h>

#include <cmath>

#include "lact/nn/linear.h"

namespace lact::nn {

void init_linear(Linear& layer, double std) {
  at::NoGradGuard no_grad;
  layer.weight.normal_(0, std);
  if (layer.bias.defined()) layer.bias.zero_();
}

void init_linears(torch::nn::Module& module, double std) {
  if (auto* linear = module.as<Linear>()) init_linear(*linear, std);
  for (const auto& child : module.children()) init_linears(*child, std);
}

void init_zero(Linear& layer) { init_linear(layer, 0); }

void init_fan_in(at::Tensor& weight, double gain) {
  at::NoGradGuard no_grad;
  weight.normal_(0, gain / std::sqrt(double(weight.size(-1))));
}

}  // namespace lact::nn
