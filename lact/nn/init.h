// Initial values (paper, "Model initializations").
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>

namespace torch::nn {
class Module;
}

namespace lact::nn {

class Linear;

/// While one lives, the functions below leave values as they are, on this thread: for a model whose every
/// value comes from a file, and whose memory nobody should touch before.
class SkipInit {
 public:
  SkipInit();
  ~SkipInit();
  SkipInit(const SkipInit&) = delete;
  SkipInit& operator=(const SkipInit&) = delete;

 private:
  bool before_;
};

/// A module without values.
template <class Module, class... Arguments>
std::shared_ptr<Module> make_uninitialised(Arguments&&... arguments) {
  const SkipInit skip;
  return std::make_shared<Module>(std::forward<Arguments>(arguments)...);
}

/// N(mean, std²) and U(-bound, bound) in place.
void init_normal(at::Tensor weight, double std, double mean = 0);
void init_uniform(at::Tensor weight, double bound);

/// Standard deviation of the linear layers' weights.
inline constexpr double kLinearStd = 0.02;

/// Weights from N(0, std²), biases zero.
void init_linear(Linear& layer, double std);

/// The same for `module` and everything below it.
void init_linears(torch::nn::Module& module, double std);

/// Weights and bias zero: the layer starts without effect.
void init_zero(Linear& layer);

/// N(0, (gain / sqrt(fan_in))²) in place; fan_in is the last dimension.
void init_fan_in(at::Tensor& weight, double gain);

}  // namespace lact::nn
