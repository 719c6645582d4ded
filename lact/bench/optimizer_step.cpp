#include "lact/bench/optimizer_step.h"

#include <ATen/ATen.h>

#include "lact/base/profile.h"
#include "lact/train/optimizer.h"

namespace lact::bench {

OptimizerStep::OptimizerStep(torch::nn::Module& model)
    : optimizer_(std::make_shared<train::Optimizer>(model, train::OptimizerOptions{})) {}

void OptimizerStep::operator()(const std::function<at::Tensor()>& loss) const {
  constexpr double kRate = 1e-4, kClip = 1;
  optimizer_->zero_gradients();
  loss().backward();
  const profile::Scope part("optimizer");
  const double norm = optimizer_->gradient_norm();
  if (norm > kClip) optimizer_->scale_gradients(kClip / norm);
  optimizer_->step(kRate);
}

std::vector<at::Tensor> gradients_of(torch::nn::Module& model, const std::function<at::Tensor()>& loss) {
  model.zero_grad();
  loss().backward();
  std::vector<at::Tensor> all;
  for (auto& parameter : model.parameters()) {
    if (parameter.grad().defined()) all.push_back(parameter.grad().clone());
    parameter.mutable_grad() = at::Tensor();
  }
  return all;
}

}  // namespace lact::bench
