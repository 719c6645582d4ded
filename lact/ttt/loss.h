// What a fast-weight network is trained to do with a (key, value) pair. A loss only has to say its gradient
// on f(k), negated: the direction of descent. A new one is one new file in losses/ that defines `const
// FastWeightLoss& <file name>_loss()`.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace lact::ttt {

class FastWeightLoss {
 public:
  virtual ~FastWeightLoss() = default;

  /// Whether `negative_gradient` looks at the prediction; the dot-product loss does not, which saves a third
  /// of the forward pass.
  virtual bool needs_prediction() const = 0;

  /// Whether the negative gradient is the value itself, or what the prediction lacks of it, v - f(k): the two
  /// forms that the fused scan knows.
  virtual bool negative_gradient_is_value() const { return false; }
  virtual bool negative_gradient_is_residual() const { return false; }

  /// -∂L(f(k), v)/∂f(k), per token: [B, H, T, out]. The prediction is undefined unless it is needed.
  virtual at::Tensor negative_gradient(const at::Tensor& prediction, const at::Tensor& v) const = 0;
};

const FastWeightLoss& loss(const std::string& name);
std::vector<std::string> loss_names();

}  // namespace lact::ttt
