// f(x) = down · (silu(gate · x) ∘ (up · x)), without biases (paper eq. 6). The order gate, down, up is that
// of the paper's W1, W2, W3 and of the authors' w0, w1, w2.
#include "lact/ttt/fast_weight.h"
#include "lact/ttt/network.h"
#include "lact/ttt/passes/passes.h"

namespace lact::ttt {

namespace {

SwigluMatrices named(const Matrices& m) { return {.gate = m.at(0), .down = m.at(1), .up = m.at(2)}; }

class Swiglu final : public FastWeightNetwork {
 public:
  std::vector<MatrixShape> matrices(int64_t in, int64_t hidden, int64_t out) const override {
    return {{"gate", hidden, in}, {"down", out, hidden, /*reads_tokens=*/false}, {"up", hidden, in}};
  }

  size_t output_matrix() const override { return 1; }

  at::Tensor apply(const Matrices& weights, const at::Tensor& x) const override {
    return swiglu_apply(named(weights), x);
  }

  at::Tensor features(const Matrices& weights, const at::Tensor& x) const override {
    return swiglu_hidden(named(weights), x);
  }

  Matrices descent(const Matrices& weights, const at::Tensor& k, const at::Tensor& negative_gradient,
                   const Matrices& rates) const override {
    auto [gate, down, up] = swiglu_descent(named(weights), k, negative_gradient, named(rates));
    return {gate, down, up};
  }

  // Two products forward, four backward, over three matrices.
  double descent_passes() const override { return 2; }

  std::unique_ptr<fused::FastWeightPasses> passes(const fused::NetworkSizes& sizes,
                                                  bool bf16) const override {
    return fused::swiglu_passes(sizes, bf16);
  }
};

}  // namespace

const FastWeightNetwork& swiglu_network() {
  static const Swiglu instance;
  return instance;
}

}  // namespace lact::ttt
