// For rank 0, which writes a model folder of weights that it does not hold: it shows them to the model as
// they lie in the checkpoint that was just written.
#pragma once

#include <torch/nn/module.h>

#include <string>
#include <vector>

namespace lact::train {

class WholeWeights {
 public:
  /// While one lives, parameters of `module` that other ranks keep are the tensors `prefix` + name of the
  /// checkpoint.
  WholeWeights(torch::nn::Module& module, const std::string& checkpoint, const std::string& prefix);
  ~WholeWeights();
  WholeWeights(const WholeWeights&) = delete;
  WholeWeights& operator=(const WholeWeights&) = delete;

 private:
  std::vector<at::Tensor> shown_;
};

}  // namespace lact::train
