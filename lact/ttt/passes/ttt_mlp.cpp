// The passes of f(x) = x + LN(W₂ h + b₂), h = gelu(y), y = W₁ x + b₁, over a block of tokens. A bar is a
// gradient; s and c are the first and second derivative of gelu at y.
//   write   z = W₂ h + b₂,   δ = -∂L/∂z,   g = W₂ᵀ δ,   ε = g ∘ s
//           d₂ += Σ_t δ_t (η_t h_t)ᵀ,   d₁ += Σ_t ε_t (η_t k_t)ᵀ,   and of the biases Σ_t η_t δ_t, Σ_t η_t
//           ε_t
//   back    δ̄, h̄ from d̄₂;   ε̄, a part of k̄ from d̄₁;   ḡ = ε̄ ∘ s,   ȳ = ε̄ ∘ g ∘ c,   δ̄ += W₂ ḡ,
//           W̄₂ += Σ_t δ_t ḡ_tᵀ;   z̄, v̄ from δ̄;   h̄ += W₂ᵀ z̄,   W̄₂ += Σ_t z̄_t h_tᵀ,   b̄₂ += Σ_t z̄_t;
//           ȳ += h̄ ∘ s,   k̄ += W₁ᵀ ȳ,   W̄₁ += Σ_t ȳ_t k_tᵀ,   b̄₁ += Σ_t ȳ_t
#include "lact/ttt/passes/head_parts.h"

namespace lact::ttt::fused {

namespace {

class TttMlpPasses final : public HeadPasses {
 public:
  TttMlpPasses(ops::fused::Bench& bench, const HeadPassesOptions& options)
      : in_(bench, 0, 1, options),
        out_(bench, 2, 3, options),
        norm_(bench, 4, 5, options),
        hidden_width_(options.places[0].rows) {
    for (FloatRows* rows : {&before_, &hidden_, &slope_, &curvature_, &back_, &delta_, &delta_gradient_,
                            &hidden_gradient_, &before_gradient_}) {
      *rows = bench.matrix(kBlockRows, hidden_width_);
    }
    token_gradient_ = bench.matrix(kBlockRows, norm_.width());
    out_delta_gradient_ = bench.matrix(kBlockRows, norm_.width());
  }

  void load(const float* weights, bool backward) override {
    in_.load(weights, backward);
    out_.load(weights, true);  // a write goes back through W₂
    norm_.load(weights);
  }

  void read(NumberRows x, int64_t rows, OutputRows out) override {
    to_norm(x, rows, {});
    norm_.read(x, out_.bias(), rows, out);
  }

  void descend(const WrittenBlock& block, float* sums) override {
    const FloatRows delta = deltas_of(block, {});
    out_.descend(delta, hidden_.read(), block, sums);
    if (writes_in(block)) in_.descend(delta_, block.k, block, sums);
  }

  void read_backward(NumberRows x, NumberRows out_gradient, int64_t rows, OutputRows x_gradient,
                     float* weight_gradients) override {
    to_norm(x, rows, {});
    const FloatRows z_gradient =
        norm_.read_backward(out_gradient, out_.bias(), rows, token_gradient_, weight_gradients);
    out_.apply_transposed(z_gradient, rows, hidden_gradient_, /*add=*/false);
    out_.add_gradients(z_gradient, hidden_.read(), rows, weight_gradients);
    kernel_.multiply(hidden_gradient_, slope_, 0, {rows, hidden_width_}, before_gradient_);
    finish(x, rows, x_gradient, false, weight_gradients);
  }

  void load_slopes(const float* sum_gradients) override {
    in_.load_slopes(sum_gradients);
    out_.load_slopes(sum_gradients);
  }

  void descend_backward(const WrittenBlock& block, const BlockGradients& gradients,
                        float* weight_gradients) override {
    const kernels::BlockSize hidden = {block.rows, hidden_width_};
    const FloatRows delta = deltas_of(block, curvature_);
    set_zero(token_gradient_, block.rows, norm_.width());
    set_zero(hidden_gradient_, block.rows, hidden_width_);
    out_.descend_backward(delta, hidden_.read(), block, gradients, out_delta_gradient_, hidden_gradient_);
    if (writes_in(block)) {
      in_.descend_backward(delta_, block.k, block, gradients, delta_gradient_, token_gradient_);
      kernel_.multiply(back_, curvature_, 0, hidden, curvature_);
      kernel_.multiply(delta_gradient_, curvature_, 0, hidden, before_gradient_);  // ε̄ g c
      kernel_.multiply(delta_gradient_, slope_, 0, hidden, back_);                 // ḡ
      out_.apply(back_.read(), block.rows, out_delta_gradient_, /*add=*/true);
      out_.add_outer_products(delta, back_.read(), block.rows, weight_gradients);
    } else {
      set_zero(before_gradient_, block.rows, hidden_width_);
    }
    const FloatRows z_gradient =
        norm_.descend_backward(block.rows, out_delta_gradient_, gradients, token_gradient_, weight_gradients);
    out_.apply_transposed(z_gradient, block.rows, hidden_gradient_, /*add=*/true);
    out_.add_gradients(z_gradient, hidden_.read(), block.rows, weight_gradients);
    kernel_.multiply(hidden_gradient_, slope_, 1, hidden, before_gradient_);
    finish(block.k, block.rows, gradients.k, gradients.add, weight_gradients);
  }

 private:
  static bool writes_in(const WrittenBlock& block) { return block.rates[0] != nullptr; }

  /// h and s, with numbers in `curvature` c, and z.
  void to_norm(NumberRows x, int64_t rows, FloatRows curvature) {
    in_.apply(x, rows, before_);
    kernel_.gelu(before_, in_.bias(), {rows, hidden_width_}, hidden_, slope_, curvature);
    out_.apply(hidden_.read(), rows, norm_.z());
  }

  /// Returns δ; leaves g in back_ and ε in delta_ where W₁ is written.
  FloatRows deltas_of(const WrittenBlock& block, FloatRows curvature) {
    to_norm(block.k, block.rows, curvature);
    const FloatRows delta = norm_.descend(block, out_.bias());
    if (writes_in(block)) {
      out_.apply_transposed(delta, block.rows, back_, /*add=*/false);
      kernel_.multiply(back_, slope_, 0, {block.rows, hidden_width_}, delta_);
    }
    return delta;
  }

  /// From ȳ to the gradients of x, W₁ and b₁.
  void finish(NumberRows x, int64_t rows, OutputRows x_gradient, bool add, float* weight_gradients) {
    in_.apply_transposed(before_gradient_, rows, token_gradient_, /*add=*/true);
    in_.add_gradients(before_gradient_, x, rows, weight_gradients);
    give_gradient(token_gradient_, rows, norm_.width(), x_gradient, add);
  }

  const kernels::InnerNormKernels& kernel_ = kernels::inner_norm_kernels();
  HeadAffine in_, out_;
  HeadNorm norm_;
  int64_t hidden_width_;
  FloatRows before_ = {}, hidden_ = {}, slope_ = {}, curvature_ = {}, back_ = {}, delta_ = {},
            delta_gradient_ = {}, hidden_gradient_ = {}, before_gradient_ = {};
  FloatRows token_gradient_ = {}, out_delta_gradient_ = {};
};

}  // namespace

std::unique_ptr<HeadPasses> ttt_mlp_passes(ops::fused::Bench& bench, const HeadPassesOptions& options) {
  return std::make_unique<TttMlpPasses>(bench, options);
}

}  // namespace lact::ttt::fused
