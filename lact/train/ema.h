// An exponential moving average of the parameters, often better than the last ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "lact/train/lent_parameters.h"
#include "lact/train/remote_tensors.h"

namespace torch::nn {
class Module;
}

namespace lact::train {

class Ema {
 public:
  /// Of the parameters that this rank holds. Starts at them; average ← decay · average + (1 - decay) ·
  /// parameters.
  Ema(const torch::nn::Module& model, double decay);

  void update();

  /// Exchanges parameters and averages; called again, it puts them back.
  void swap();

  void save(RemoteTensors& tensors, const LentParameters* lent) const;
  void load(const std::map<std::string, at::Tensor>& tensors, const std::string& file);

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter, average;  ///< no average of a parameter that another rank keeps
  };
  double decay_;
  std::vector<Slot> slots_;
};

}  // namespace lact::train
