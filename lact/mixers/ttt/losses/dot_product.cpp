// L = -f(k)ᵀ v (paper eq. 6): the pull is the value itself.
#include "lact/mixers/ttt/loss.h"

namespace lact::ttt {

namespace {

class DotProduct final : public FastWeightLoss {
 public:
  bool needs_prediction() const override { return false; }
  bool pulls_by_value() const override { return true; }
  at::Tensor pull(const at::Tensor& /*prediction*/, const at::Tensor& v) const override { return v; }
};

}  // namespace

const FastWeightLoss& dot_product_loss() {
  static const DotProduct instance;
  return instance;
}

}  // namespace lact::ttt
