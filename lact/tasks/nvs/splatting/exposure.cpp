#include "lact/tasks/nvs/splatting/exposure.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"

namespace lact::tasks::nvs {

namespace {

at::Tensor unchanged() { return at::eye(3, 4); }

}  // namespace

Exposures::Exposures(int64_t photos)
    : values_(unchanged().repeat({photos, 1, 1})),
      mean_(at::zeros_like(values_)),
      square_(at::zeros_like(values_)),
      steps_(at::zeros({photos}, at::kLong)) {}

at::Tensor Exposures::seen(const at::Tensor& picture, int64_t photo) {
  photo_ = photo;
  leaf_ = values_[photo].clone().requires_grad_();
  const at::Tensor colours = picture.reshape({3, -1});
  return (at::matmul(leaf_.narrow(1, 0, 3), colours) + leaf_.narrow(1, 3, 1)).reshape(picture.sizes());
}

void Exposures::step(const SplatRates& rates) {
  at::NoGradGuard no_grad;
  const at::Tensor gradient = leaf_.grad();
  if (!gradient.defined()) return;
  steps_[photo_] += 1;
  const auto steps = double(steps_[photo_].item<int64_t>());
  at::Tensor mean = mean_[photo_], square = square_[photo_];
  mean.mul_(rates.beta1).add_(gradient, 1 - rates.beta1);
  square.mul_(rates.beta2).addcmul_(gradient, gradient, 1 - rates.beta2);
  const at::Tensor size = (square / (1 - std::pow(rates.beta2, steps))).sqrt() + rates.epsilon;
  values_[photo_] -= rates.exposure / (1 - std::pow(rates.beta1, steps)) * mean / size;
  values_ += unchanged() - values_.mean(0);
}

void Exposures::save(std::map<std::string, at::Tensor>& tensors) const {
  tensors["exposures"] = values_;
  tensors["exposures.mean"] = mean_;
  tensors["exposures.square"] = square_;
  tensors["exposures.steps"] = steps_;
}

void Exposures::load(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  for (const auto& [name, own] :
       {std::pair("exposures", &values_), std::pair("exposures.mean", &mean_),
        std::pair("exposures.square", &square_), std::pair("exposures.steps", &steps_)}) {
    const auto found = tensors.find(name);
    LACT_CHECK(found != tensors.end() && found->second.scalar_type() == own->scalar_type() &&
                   found->second.sizes() == own->sizes(),
               "{}: has no {} for {} photos", file, name, steps_.size(0));
    own->copy_(found->second);
  }
}

}  // namespace lact::tasks::nvs
