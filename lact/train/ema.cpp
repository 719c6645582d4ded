#include "lact/train/ema.h"

#include <torch/nn/module.h>

#include "lact/train/checkpoint.h"

namespace lact::train {

Ema::Ema(const torch::nn::Module& model, double decay) : decay_(decay) {
  for (const auto& item : model.named_parameters()) {
    slots_.push_back({item.key(), item.value(), item.value().detach().clone()});
  }
}

void Ema::update() {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) slot.average.lerp_(slot.parameter, 1 - decay_);
}

void Ema::swap() {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    const at::Tensor kept = slot.parameter.detach().clone();
    slot.parameter.copy_(slot.average);
    slot.average.copy_(kept);
  }
}

void Ema::save(std::map<std::string, at::Tensor>& tensors) const {
  for (const auto& slot : slots_) tensors["ema." + slot.name] = slot.average;
}

void Ema::load(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) restore(slot.average, tensors, "ema." + slot.name, file);
}

}  // namespace lact::train
