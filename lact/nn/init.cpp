#include "lact/nn/init.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <cmath>

#include "lact/nn/linear.h"
#include "lact/nn/loan.h"

namespace lact::nn {

namespace {

thread_local bool skips_init = false;

/// Where the values of a weight go. One that another rank keeps is drawn nevertheless and forgotten: what is
/// drawn after it is the same on all.
at::Tensor place_of(const at::Tensor& weight) { return is_held(weight) ? weight : at::empty_like(weight); }

}  // namespace

SkipInit::SkipInit() : before_(std::exchange(skips_init, true)) {}
SkipInit::~SkipInit() { skips_init = before_; }

void init_normal(at::Tensor weight, double std, double mean) {
  if (skips_init) return;
  at::NoGradGuard no_grad;
  place_of(weight).normal_(mean, std);
}

void init_uniform(at::Tensor weight, double bound) {
  if (skips_init) return;
  at::NoGradGuard no_grad;
  place_of(weight).uniform_(-bound, bound);
}

void init_linear(Linear& layer, double std) {
  init_normal(layer.weight, std);
  if (skips_init || !layer.bias.defined()) return;
  at::NoGradGuard no_grad;
  layer.bias.zero_();
}

void init_linears(torch::nn::Module& module, double std) {
  if (auto* linear = module.as<Linear>()) init_linear(*linear, std);
  for (const auto& child : module.children()) init_linears(*child, std);
}

void init_zero(Linear& layer) { init_linear(layer, 0); }

void init_fan_in(at::Tensor& weight, double gain) {
  init_normal(weight, gain / std::sqrt(double(weight.size(-1))));
}

}  // namespace lact::nn
