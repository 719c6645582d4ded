// TTT-MLP: f(x) = x + LN(W₂ gelu(W₁ x + b₁) + b₂) (Sun et al. 2024), with the tanh form of gelu.
#include <ATen/ATen.h>

#include <cmath>

#include "lact/ops/activations/activations.h"
#include "lact/ttt/inner_norm.h"
#include "lact/ttt/network.h"
#include "lact/ttt/passes/head_passes.h"

namespace lact::ttt {

namespace {

/// gelu(x) = ½ x (1 + t), t = tanh(√(2/π) (x + 0.044715 x³)); its slope ½ (1 + t) + ½ x (1 - t²) dt.
at::Tensor gelu_slope(const at::Tensor& x) {
  const double root = std::sqrt(2 / M_PI), cubic = 0.044715;
  const at::Tensor square = x * x;
  const at::Tensor t = at::tanh(root * x * (1 + cubic * square));
  return 0.5 * (1 + t) + 0.5 * root * x * (1 - t * t) * (1 + 3 * cubic * square);
}

enum TttMlpMatrix { kIn, kInBias, kOut, kOutBias, kScale, kShift };

class TttMlp final : public FastWeightNetwork {
 public:
  std::vector<MatrixShape> matrices(int64_t in, int64_t hidden, int64_t out) const override {
    return {{"in", hidden, in},
            {"in_bias", hidden, 1, /*reads_tokens=*/false, /*fixed=*/false, /*initial=*/0.0},
            {"out", out, hidden, /*reads_tokens=*/false},
            {"out_bias", out, 1, /*reads_tokens=*/false, /*fixed=*/false, /*initial=*/0.0},
            {"norm_scale", 1, out, /*reads_tokens=*/false, /*fixed=*/true, /*initial=*/1.0},
            {"norm_shift", 1, out, /*reads_tokens=*/false, /*fixed=*/true, /*initial=*/0.0}};
  }

  size_t output_matrix() const override { return kOut; }

  at::Tensor apply(const Matrices& m, const at::Tensor& x) const override {
    const at::Tensor hidden = ops::gelu_tanh(affine(x, m.at(kIn), m.at(kInBias)));
    return norm(m).residual(x, affine(hidden, m.at(kOut), m.at(kOutBias)));
  }

  Matrices descent(const Matrices& m, const at::Tensor& k, const at::Tensor& negative_gradient,
                   const Matrices& rates) const override {
    const at::Tensor before = affine(k, m.at(kIn), m.at(kInBias)), hidden = ops::gelu_tanh(before);
    const at::Tensor delta = norm(m).descent(affine(hidden, m.at(kOut), m.at(kOutBias)), negative_gradient);
    Matrices direction(m.size());
    direction[kOut] = weight_descent(delta, rates.at(kOut), hidden, m.at(kOut));
    direction[kOutBias] = bias_descent(delta, rates.at(kOutBias), m.at(kOutBias));
    if (!rates.at(kIn).defined()) return direction;
    const at::Tensor hidden_delta =
        at::matmul(delta, m.at(kOut).to(delta.scalar_type())) * gelu_slope(before);
    direction[kIn] = weight_descent(hidden_delta, rates.at(kIn), k, m.at(kIn));
    direction[kInBias] = bias_descent(hidden_delta, rates.at(kInBias), m.at(kInBias));
    return direction;
  }

  // Both products forward, one back, two sums of outer products, over two matrices.
  double descent_passes() const override { return 2.5; }

  fused::MakeHeadPasses head_passes() const override { return fused::ttt_mlp_passes; }

 private:
  static InnerNorm norm(const Matrices& m) { return {m.at(kScale), m.at(kShift)}; }
};

}  // namespace

const FastWeightNetwork& ttt_mlp_network() {
  static const TttMlp instance;
  return instance;
}

}  // namespace lact::ttt
