// L = ½ |f(k) - v|²: the negative gradient is what is still missing, so a pair that is already known changes
// nothing.
#include <ATen/ATen.h>

#include "lact/ttt/loss.h"

namespace lact::ttt {

namespace {

class SquaredError final : public FastWeightLoss {
 public:
  bool needs_prediction() const override { return true; }
  bool negative_gradient_is_residual() const override { return true; }
  at::Tensor negative_gradient(const at::Tensor& prediction, const at::Tensor& v) const override {
    return v - prediction;
  }
};

}  // namespace

const FastWeightLoss& squared_error_loss() {
  static const SquaredError instance;
  return instance;
}

}  // namespace lact::ttt
