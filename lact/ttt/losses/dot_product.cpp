// L = -f(k)ᵀ v (paper eq. 7): the negative gradient is the value itself.
#include "lact/ttt/loss.h"

namespace lact::ttt {

namespace {

class DotProduct final : public FastWeightLoss {
 public:
  bool needs_prediction() const override { return false; }
  bool negative_gradient_is_value() const override { return true; }
  at::Tensor negative_gradient(const at::Tensor& /*prediction*/, const at::Tensor& v) const override {
    return v;
  }
};

}  // namespace

const FastWeightLoss& dot_product_loss() {
  static const DotProduct instance;
  return instance;
}

}  // namespace lact::ttt
