// What the networks of small chunks are made of: an affine map and a layer norm with a residual, each with
// the passes of head_passes.h.
#pragma once

#include "lact/ttt/passes/head_passes.h"

namespace lact::ttt::fused {

/// z = x Wᵀ, and a bias that who comes next adds to z. A bar is a gradient; η are rates.
class HeadAffine {
 public:
  HeadAffine(ops::fused::Bench& bench, size_t weight, size_t bias, const HeadPassesOptions& options);

  void load(const float* weights, bool backward);
  const float* bias() const { return bias_; }

  /// z = x Wᵀ, or added to z
  void apply(NumberRows x, int64_t rows, FloatRows z, bool add = false);
  /// to = z W, or added
  void apply_transposed(FloatRows z, int64_t rows, FloatRows to, bool add);

  /// W += Σ_t z_t x_tᵀ, b += Σ_t z_t
  void add_gradients(FloatRows z, NumberRows x, int64_t rows, float* weights);
  void add_outer_products(FloatRows z, NumberRows x, int64_t rows, float* weights);

  /// W += Σ_t δ_t (η_t x_t)ᵀ, b += Σ_t η_t δ_t, of each where there are rates.
  void descend(FloatRows delta, NumberRows x, const WrittenBlock& block, float* sums);

  /// From the gradients D and e of those sums: with R = x Dᵀ
  ///   δ̄ = η R + η_b e,   x̄ += (η δ) D,   η̄ += Σ δ R,   η̄_b += Σ δ e
  void load_slopes(const float* sum_gradients);
  void descend_backward(FloatRows delta, NumberRows x, const WrittenBlock& block,
                        const BlockGradients& gradients, FloatRows delta_gradient, FloatRows x_gradient);

 private:
  const kernels::InnerNormKernels& kernel_ = kernels::inner_norm_kernels();
  size_t weight_index_, bias_index_;
  MatrixPlace weight_place_, bias_place_;
  float *bias_, *bias_slope_;
  FloatRows scaled_;
  ops::fused::LeftOperand in_left_, out_left_, sum_left_;
  ops::fused::RightOperand forward_, back_, sum_right_, slope_forward_, slope_back_;
};

/// f = x + LN(z) with what follows from it; `z` is where the network writes z without its bias.
class HeadNorm {
 public:
  HeadNorm(ops::fused::Bench& bench, size_t scale, size_t shift, const HeadPassesOptions& options);

  void load(const float* weights);
  FloatRows z() const { return z_; }
  int64_t width() const { return scale_place_.columns; }

  void read(NumberRows x, const float* bias, int64_t rows, OutputRows out);

  /// -∂L/∂z
  FloatRows descend(const WrittenBlock& block, const float* bias);

  /// From the gradient of f that of z; `gradient` becomes it in float32, which is that of x through the
  /// residual.
  FloatRows read_backward(NumberRows out_gradient, const float* bias, int64_t rows, FloatRows gradient,
                          float* weight_gradients);

  /// After `descend`, from the gradient of what it returned: that of z. Writes those of v, and adds to that
  /// of k what comes through the residual.
  FloatRows descend_backward(int64_t rows, FloatRows delta_gradient, const BlockGradients& gradients,
                             FloatRows k_gradient, float* weight_gradients);

 private:
  const kernels::InnerNormKernels& kernel_ = kernels::inner_norm_kernels();
  MatrixPlace scale_place_, shift_place_;
  bool residual_;
  kernels::NormChannels channels_ = {};
  FloatRows z_, p_, delta_, p_gradient_, z_gradient_;
  float* inverse_;
};

/// Writes rows of a gradient, or adds them to what stands there in float32.
void give_gradient(FloatRows from, int64_t rows, int64_t width, OutputRows to, bool add);
void set_zero(FloatRows to, int64_t rows, int64_t width);

}  // namespace lact::ttt::fused
