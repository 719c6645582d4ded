// An exponential moving average of the parameters, often better than the last ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace lact::train {

class Ema {
 public:
  /// Starts at the parameters; average ← decay · average + (1 - decay) · parameters.
  Ema(const torch::nn::Module& model, double decay);

  void update();

  /// Exchanges parameters and averages; called again, it puts them back.
  void swap();

  void save(std::map<std::string, at::Tensor>& tensors) const;
  void load(const std::map<std::string, at::Tensor>& tensors, const std::string& file);

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter, average;
  };
  double decay_;
  std::vector<Slot> slots_;
};

}  // namespace lact::train
