// f(x) = W · x.
#include "lact/ttt/fast_weight.h"
#include "lact/ttt/network.h"
#include "lact/ttt/passes/passes.h"

namespace lact::ttt {

namespace {

class Linear final : public FastWeightNetwork {
 public:
  std::vector<MatrixShape> matrices(int64_t in, int64_t /*hidden*/, int64_t out) const override {
    return {{"weight", out, in}};
  }

  size_t output_matrix() const override { return 0; }

  at::Tensor apply(const Matrices& weights, const at::Tensor& x) const override {
    return linear_apply(weights.at(0), x);
  }

  at::Tensor features(const Matrices& /*weights*/, const at::Tensor& x) const override { return x; }

  Matrices descent(const Matrices& weights, const at::Tensor& k, const at::Tensor& negative_gradient,
                   const Matrices& rates) const override {
    return {linear_descent(weights.at(0), k, negative_gradient, rates.at(0))};
  }

  double descent_passes() const override { return 1; }

  std::unique_ptr<fused::FastWeightPasses> passes(const fused::NetworkSizes& sizes,
                                                  bool bf16) const override {
    return fused::linear_passes(sizes, bf16);
  }
};

}  // namespace

const FastWeightNetwork& linear_network() {
  static const Linear instance;
  return instance;
}

}  // namespace lact::ttt
