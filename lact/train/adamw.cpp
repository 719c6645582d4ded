#include "lact/train/adamw.h"

#include <torch/nn/module.h>

#include <cmath>

#include "lact/train/checkpoint.h"

namespace lact::train {

AdamW::AdamW(const torch::nn::Module& model, const AdamWOptions& options) : options_(options) {
  for (const auto& item : model.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    const at::Tensor zeros = at::zeros_like(item.value()).detach();
    slots_.push_back({item.key(), item.value(), zeros, zeros.clone()});
  }
}

void AdamW::zero_gradients() {
  for (auto& slot : slots_) slot.parameter.mutable_grad() = at::Tensor();
}

double AdamW::gradient_norm() const {
  double squares = 0;
  for (const auto& slot : slots_) {
    if (!slot.parameter.grad().defined()) continue;
    const double norm = slot.parameter.grad().norm().item<double>();
    squares += norm * norm;
  }
  return std::sqrt(squares);
}

void AdamW::scale_gradients(double factor) {
  for (auto& slot : slots_) {
    if (slot.parameter.grad().defined()) slot.parameter.mutable_grad().mul_(factor);
  }
}

void AdamW::step(double rate) {
  at::NoGradGuard no_grad;
  ++steps_;
  const double mean_share = 1 - std::pow(options_.beta1, double(steps_));
  const double square_share = 1 - std::pow(options_.beta2, double(steps_));
  for (auto& [name, parameter, mean, square] : slots_) {
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    mean.lerp_(gradient, 1 - options_.beta1);
    square.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
    if (parameter.dim() > 1) parameter.mul_(1 - rate * options_.weight_decay);
    const at::Tensor size = (square / square_share).sqrt_().add_(options_.epsilon);
    parameter.addcdiv_(mean, size, -rate / mean_share);
  }
}

void AdamW::save(std::map<std::string, at::Tensor>& tensors) const {
  for (const auto& slot : slots_) {
    tensors["adam.mean." + slot.name] = slot.mean;
    tensors["adam.square." + slot.name] = slot.square;
  }
  tensors["adam.steps"] = at::full({1}, steps_, at::kLong);
}

void AdamW::load(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    restore(slot.mean, tensors, "adam.mean." + slot.name, file);
    restore(slot.square, tensors, "adam.square." + slot.name, file);
  }
  at::Tensor steps = at::zeros({1}, at::kLong);
  restore(steps, tensors, "adam.steps", file);
  steps_ = steps.item<int64_t>();
}

}  // namespace lact::train
