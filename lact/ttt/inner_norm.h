// The layer norm inside of the networks of the original TTT: f(x) = x + LN(z(x)), LN(z) = scale ∘ ẑ + shift,
// ẑ = (z - mean) / sqrt(variance + ε). Written out, so that the direction of descent can pass through it and
// be differentiated in turn.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ttt {

/// scale and shift [..., 1, D]; learned with the model and never written.
struct InnerNorm {
  static constexpr double kEpsilon = 1e-6;
  at::Tensor scale, shift;

  /// x + LN(z) for x, z [..., T, D], in the type of x.
  at::Tensor residual(const at::Tensor& x, const at::Tensor& z) const;

  /// From p = -∂L/∂f to -∂L/∂z: (a - mean(a) - ẑ mean(a ∘ ẑ)) / sqrt(variance + ε) with a = scale ∘ p, in the
  /// type of p.
  at::Tensor descent(const at::Tensor& z, const at::Tensor& negative_gradient) const;
};

/// x Wᵀ + biasᵀ for weight [..., out, in] and bias [..., out, 1], in the type of x.
at::Tensor affine(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// Σ_t δ_t (rate_t ∘ input_t)ᵀ in the type of `like`, or for a bias, without an input, Σ_t rate_t δ_t.
/// Undefined without a rate.
at::Tensor weight_descent(const at::Tensor& delta, const at::Tensor& rate, const at::Tensor& input,
                          const at::Tensor& like);
at::Tensor bias_descent(const at::Tensor& delta, const at::Tensor& rate, const at::Tensor& like);

}  // namespace lact::ttt
