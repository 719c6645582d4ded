#include "lact/train/whole_weights.h"

#include "lact/io/safetensors.h"
#include "lact/nn/loan.h"

namespace lact::train {

WholeWeights::WholeWeights(torch::nn::Module& module, const std::string& checkpoint,
                           const std::string& prefix) {
  auto file = io::read_safetensors(checkpoint);
  for (auto& item : module.named_parameters()) {
    at::Tensor& parameter = item.value();
    if (nn::is_held(parameter)) continue;
    parameter.set_data(file.tensors.at(prefix + item.key()));
    shown_.push_back(parameter);
  }
}

WholeWeights::~WholeWeights() {
  for (auto& parameter : shown_) nn::let_go(parameter);
}

}  // namespace lact::train
