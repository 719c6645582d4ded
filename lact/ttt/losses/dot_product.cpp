// L = -f(k)ᵀ v (paper eq. 6): the output_gradient is the value itself.
#include "lact/ttt/loss.h"

namespace lact::ttt {

namespace {

class DotProduct final : public FastWeightLoss {
 public:
  bool needs_prediction() const override { return false; }
  bool output_gradient_is_value() const override { return true; }
  at::Tensor output_gradient(const at::Tensor& /*prediction*/, const at::Tensor& v) const override {
    return v;
  }
};

}  // namespace

const FastWeightLoss& dot_product_loss() {
  static const DotProduct instance;
  return instance;
}

}  // namespace lact::ttt
