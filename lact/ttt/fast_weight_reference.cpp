#include <ATen/ATen.h>

#include "lact/ttt/fast_weight.h"

namespace lact::ttt::reference {

namespace {

/// x Wᵀ, in the dtype of x.
at::Tensor project(const at::Tensor& x, const at::Tensor& weight) {
  return at::matmul(x, weight.to(x.scalar_type()).transpose(-2, -1));
}

/// Σ_t δ_t (rate_t ∘ input_t)ᵀ: [..., out, in]; undefined without a rate.
at::Tensor outer_sum(const at::Tensor& delta, const at::Tensor& rate, const at::Tensor& input) {
  if (!rate.defined()) return {};
  return at::matmul(delta.transpose(-2, -1), (input * rate).to(delta.scalar_type()));
}

at::Tensor in_type(const at::Tensor& x, at::ScalarType type) { return x.defined() ? x.to(type) : x; }

/// d silu(x) / dx = σ(x) (1 + x (1 - σ(x)))
at::Tensor silu_slope(const at::Tensor& x) {
  const at::Tensor sigma = at::sigmoid(x);
  return sigma * (1 + x * (1 - sigma));
}

}  // namespace

at::Tensor swiglu_hidden(const SwigluMatrices& weights, const at::Tensor& x) {
  return at::silu(project(x, weights.gate)) * project(x, weights.up);
}

at::Tensor swiglu_apply(const SwigluMatrices& weights, const at::Tensor& x) {
  return project(reference::swiglu_hidden(weights, x), weights.down);
}

SwigluMatrices swiglu_descent(const SwigluMatrices& weights, const at::Tensor& k,
                              const at::Tensor& negative_gradient, const SwigluMatrices& rates) {
  // Forward with the keys; f(k) itself is not needed.
  const at::Tensor gate = project(k, weights.gate);
  const at::Tensor up = project(k, weights.up);
  const at::Tensor hidden = at::silu(gate) * up;
  const at::ScalarType type = weights.gate.scalar_type();
  SwigluMatrices direction;
  direction.down = in_type(outer_sum(negative_gradient, rates.down, hidden), type);
  if (!rates.gate.defined() && !rates.up.defined()) return direction;

  // Backward from -∂L/∂f(k): all gradients here are negated, so that adding them goes downhill.
  const at::Tensor hidden_delta =
      at::matmul(negative_gradient, weights.down.to(negative_gradient.scalar_type()));
  const at::Tensor gate_delta = hidden_delta * up * silu_slope(gate);
  const at::Tensor up_delta = hidden_delta * at::silu(gate);

  direction.gate = in_type(outer_sum(gate_delta, rates.gate, k), type);
  direction.up = in_type(outer_sum(up_delta, rates.up, k), type);
  return direction;
}

at::Tensor linear_apply(const at::Tensor& weight, const at::Tensor& x) { return project(x, weight); }

at::Tensor linear_descent(const at::Tensor& k, const at::Tensor& negative_gradient, const at::Tensor& rate) {
  return outer_sum(negative_gradient, rate, k);
}

}  // namespace lact::ttt::reference
