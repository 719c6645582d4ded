// The two fast-weight networks of the paper as pure functions: reading them, and the direction in which a
// chunk of (key, value) pairs moves their matrices. Equations in docs/maths.md.
//
// Weights are [..., out, in], tokens are rows [..., T, D]; the leading dimensions (batch, heads) are equal.
// `negative_gradient` is -∂L/∂f(k) per token, the direction of descent: for the dot-product loss it is v
// itself.
// A rate is [..., T, 1] (one number per token) or [..., T, in] (one per token and input channel of its
// matrix). The matrices may be float32 while tokens are bfloat16: products run in the tokens' dtype and
// directions come back in the matrices' dtype.
#pragma once

#include <ATen/core/Tensor.h>

namespace lact::ttt {

/// f(x) = down · (silu(gate · x) ∘ (up · x)); gate, up [..., F, D], down [..., D_out, F].
struct SwigluMatrices {
  at::Tensor gate, down, up;
};

at::Tensor swiglu_apply(const SwigluMatrices& weights, const at::Tensor& x);

/// silu(gate · x) ∘ (up · x): [..., T, F].
at::Tensor swiglu_hidden(const SwigluMatrices& weights, const at::Tensor& x);

/// Σ_t rate_t · (-∂L_t/∂W) for each matrix W; undefined for one whose rate is undefined.
SwigluMatrices swiglu_descent(const SwigluMatrices& weights, const at::Tensor& k,
                              const at::Tensor& negative_gradient, const SwigluMatrices& rates);

/// f(x) = W · x; W [..., D_out, D].
at::Tensor linear_apply(const at::Tensor& weight, const at::Tensor& x);

at::Tensor linear_descent(const at::Tensor& weight, const at::Tensor& k, const at::Tensor& negative_gradient,
                          const at::Tensor& rate);

/// Reading with a few tokens, such as one of a text being written: float32 matrices are read once and never
/// rounded; x [..., T, D] in float32 or bfloat16.
bool is_few_token_swiglu(const SwigluMatrices& weights, const at::Tensor& x);
at::Tensor few_token_swiglu(const SwigluMatrices& weights, const at::Tensor& x);

namespace reference {
at::Tensor swiglu_hidden(const SwigluMatrices& weights, const at::Tensor& x);
at::Tensor swiglu_apply(const SwigluMatrices& weights, const at::Tensor& x);
SwigluMatrices swiglu_descent(const SwigluMatrices& weights, const at::Tensor& k,
                              const at::Tensor& negative_gradient, const SwigluMatrices& rates);
at::Tensor linear_apply(const at::Tensor& weight, const at::Tensor& x);
at::Tensor linear_descent(const at::Tensor& k, const at::Tensor& negative_gradient, const at::Tensor& rate);
}  // namespace reference

}  // namespace lact::ttt
