// The passes of f(x) = x + LN(W x + b) over a block of tokens. A bar is a gradient; the gradient of the
// norm's own gradient is in kernels/isa/inner_norm.cpp.
//   write   z = W k + b,   δ = -∂L/∂z,   d_W += Σ_t δ_t (η_t k_t)ᵀ,   d_b += Σ_t η_t δ_t
//   back    δ̄, η̄ and a part of k̄ from d̄;   z̄, v̄ and k̄ through the residual from δ̄;   k̄ += Wᵀ z̄,
//           W̄ += Σ_t z̄_t k_tᵀ,   b̄ += Σ_t z̄_t
#include "lact/ttt/passes/head_parts.h"

namespace lact::ttt::fused {

namespace {

class TttLinearPasses final : public HeadPasses {
 public:
  TttLinearPasses(ops::fused::Bench& bench, const HeadPassesOptions& options)
      : affine_(bench, 0, 1, options),
        norm_(bench, 2, 3, options),
        token_gradient_(bench.matrix(kBlockRows, norm_.width())),
        delta_gradient_(bench.matrix(kBlockRows, norm_.width())) {}

  void load(const float* weights, bool backward) override {
    affine_.load(weights, backward);
    norm_.load(weights);
  }

  void read(NumberRows x, int64_t rows, OutputRows out) override {
    affine_.apply(x, rows, norm_.z());
    norm_.read(x, affine_.bias(), rows, out);
  }

  void descend(const WrittenBlock& block, float* sums) override {
    affine_.descend(delta_of(block), block.k, block, sums);
  }

  void read_backward(NumberRows x, NumberRows out_gradient, int64_t rows, OutputRows x_gradient,
                     float* weight_gradients) override {
    affine_.apply(x, rows, norm_.z());
    const FloatRows z_gradient =
        norm_.read_backward(out_gradient, affine_.bias(), rows, token_gradient_, weight_gradients);
    affine_.apply_transposed(z_gradient, rows, token_gradient_, /*add=*/true);
    affine_.add_gradients(z_gradient, x, rows, weight_gradients);
    give_gradient(token_gradient_, rows, norm_.width(), x_gradient, false);
  }

  void load_slopes(const float* sum_gradients) override { affine_.load_slopes(sum_gradients); }

  void descend_backward(const WrittenBlock& block, const BlockGradients& gradients,
                        float* weight_gradients) override {
    const FloatRows delta = delta_of(block);
    set_zero(token_gradient_, block.rows, norm_.width());
    affine_.descend_backward(delta, block.k, block, gradients, delta_gradient_, token_gradient_);
    const FloatRows z_gradient =
        norm_.descend_backward(block.rows, delta_gradient_, gradients, token_gradient_, weight_gradients);
    affine_.apply_transposed(z_gradient, block.rows, token_gradient_, /*add=*/true);
    affine_.add_gradients(z_gradient, block.k, block.rows, weight_gradients);
    give_gradient(token_gradient_, block.rows, norm_.width(), gradients.k, gradients.add);
  }

 private:
  FloatRows delta_of(const WrittenBlock& block) {
    affine_.apply(block.k, block.rows, norm_.z());
    return norm_.descend(block, affine_.bias());
  }

  HeadAffine affine_;
  HeadNorm norm_;
  FloatRows token_gradient_, delta_gradient_;
};

}  // namespace

std::unique_ptr<HeadPasses> ttt_linear_passes(ops::fused::Bench& bench, const HeadPassesOptions& options) {
  return std::make_unique<TttLinearPasses>(bench, options);
}

}  // namespace lact::ttt::fused
