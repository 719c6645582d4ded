// TTT-Linear: f(x) = x + LN(W x + b) (Sun et al. 2024, "Learning to (Learn at Test Time)"). With the squared
// error this is their loss |LN(W k + b) - (v - k)|². The norm's scale and shift are learned with the model.
#include "lact/ttt/inner_norm.h"
#include "lact/ttt/network.h"
#include "lact/ttt/passes/head_passes.h"

namespace lact::ttt {

namespace {

class TttLinear final : public FastWeightNetwork {
 public:
  std::vector<MatrixShape> matrices(int64_t in, int64_t /*hidden*/, int64_t out) const override {
    return {{"weight", out, in},
            {"bias", out, 1, /*reads_tokens=*/false, /*fixed=*/false, /*initial=*/0.0},
            {"norm_scale", 1, out, /*reads_tokens=*/false, /*fixed=*/true, /*initial=*/1.0},
            {"norm_shift", 1, out, /*reads_tokens=*/false, /*fixed=*/true, /*initial=*/0.0}};
  }

  size_t output_matrix() const override { return 0; }

  at::Tensor apply(const Matrices& m, const at::Tensor& x) const override {
    return norm(m).residual(x, affine(x, m.at(0), m.at(1)));
  }

  Matrices descent(const Matrices& m, const at::Tensor& k, const at::Tensor& negative_gradient,
                   const Matrices& rates) const override {
    const at::Tensor delta = norm(m).descent(affine(k, m.at(0), m.at(1)), negative_gradient);
    return {
        weight_descent(delta, rates.at(0), k, m.at(0)), bias_descent(delta, rates.at(1), m.at(1)), {}, {}};
  }

  // W k and the sum of outer products.
  double descent_passes() const override { return 2; }

  fused::MakeHeadPasses head_passes() const override { return fused::ttt_linear_passes; }

 private:
  static InnerNorm norm(const Matrices& m) { return {m.at(2), m.at(3)}; }
};

}  // namespace

const FastWeightNetwork& ttt_linear_network() {
  static const TttLinear instance;
  return instance;
}

}  // namespace lact::ttt
