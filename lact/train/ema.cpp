#include "lact/train/ema.h"

#include <torch/nn/module.h>

#include "lact/train/checkpoint.h"

namespace lact::train {

Ema::Ema(const torch::nn::Module& model, double decay) : decay_(decay) {
  for (const auto& item : model.named_parameters()) {
    slots_.push_back(
        {item.key(), item.value(), nn::is_held(item.value()) ? item.value().detach().clone() : at::Tensor()});
  }
}

void Ema::update() {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    if (slot.average.defined()) slot.average.lerp_(slot.parameter, 1 - decay_);
  }
}

void Ema::swap() {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    if (!slot.average.defined()) continue;
    const at::Tensor kept = slot.parameter.detach().clone();
    slot.parameter.copy_(slot.average);
    slot.average.copy_(kept);
  }
}

void Ema::save(RemoteTensors& tensors, const LentParameters* lent) const {
  for (const auto& [name, parameter, average] : slots_) {
    const auto owner = lent != nullptr ? lent->owner(parameter) : std::nullopt;
    tensors.add("ema." + name, average.defined() ? average : parameter, owner.value_or(0));
  }
}

void Ema::load(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  at::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    if (slot.average.defined()) restore(slot.average, tensors, "ema." + slot.name, file);
  }
}

}  // namespace lact::train
