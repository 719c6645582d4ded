// A step of training as all three tasks take it: forward, loss, backward, clipping and AdamW.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <vector>

namespace lact::train {
class Optimizer;
}

namespace lact::bench {

class OptimizerStep {
 public:
  explicit OptimizerStep(torch::nn::Module& model);

  /// `loss` runs the model.
  void operator()(const std::function<at::Tensor()>& loss) const;

 private:
  std::shared_ptr<train::Optimizer> optimizer_;
};

/// Gradients of the loss with respect to all parameters that it depends on; none are left in the model.
std::vector<at::Tensor> gradients_of(torch::nn::Module& model, const std::function<at::Tensor()>& loss);

}  // namespace lact::bench
