#include "lact/ttt/fast_weight.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::ttt {

namespace {

/// `tokens` must be rows that `weight` can multiply: [..., T, in] against [..., out, in].
void check_tokens(const char* op, const char* name, const at::Tensor& tokens, const char* weight_name,
                  const at::Tensor& weight, int64_t weight_dim) {
  LACT_CHECK(weight.dim() >= 2, "[{}] {} has shape {}, expected [..., out, in]", op, weight_name,
             weight.sizes().vec());
  LACT_CHECK(tokens.dim() == weight.dim() &&
                 tokens.sizes().slice(0, tokens.dim() - 2) == weight.sizes().slice(0, weight.dim() - 2),
             "[{}] {} has shape {} but {} has shape {}; the dimensions before the last two must be equal", op,
             name, tokens.sizes().vec(), weight_name, weight.sizes().vec());
  LACT_CHECK(tokens.size(-1) == weight.size(weight_dim), "[{}] {} has {} channels but {} expects {}", op,
             name, tokens.size(-1), weight_name, weight.size(weight_dim));
}

void check_rate(const char* op, const char* name, const at::Tensor& rate, const at::Tensor& tokens,
                const at::Tensor& weight) {
  if (!rate.defined()) return;
  const bool fits = rate.dim() == tokens.dim() &&
                    rate.sizes().slice(0, rate.dim() - 1) == tokens.sizes().slice(0, tokens.dim() - 1) &&
                    (rate.size(-1) == 1 || rate.size(-1) == weight.size(-1));
  LACT_CHECK(fits, "[{}] the rate of {} has shape {}, expected [..., {}, 1] or [..., {}, {}]", op, name,
             rate.sizes().vec(), tokens.size(-2), tokens.size(-2), weight.size(-1));
}

void check_swiglu(const char* op, const SwigluMatrices& weights) {
  LACT_CHECK(weights.gate.sizes() == weights.up.sizes(), "[{}] gate has shape {} but up has {}", op,
             weights.gate.sizes().vec(), weights.up.sizes().vec());
  LACT_CHECK(weights.down.dim() == weights.gate.dim() && weights.down.size(-1) == weights.gate.size(-2),
             "[{}] down has shape {} but gate has {}: down must take as many channels as gate gives", op,
             weights.down.sizes().vec(), weights.gate.sizes().vec());
}

void check_same_tokens(const char* op, const at::Tensor& k, const at::Tensor& negative_gradient) {
  LACT_CHECK(k.size(-2) == negative_gradient.size(-2), "[{}] there are {} keys but {} values", op, k.size(-2),
             negative_gradient.size(-2));
}

}  // namespace

at::Tensor swiglu_apply(const SwigluMatrices& weights, const at::Tensor& x) {
  check_swiglu("swiglu_apply", weights);
  check_tokens("swiglu_apply", "x", x, "gate", weights.gate, -1);
  if (is_few_token_swiglu(weights, x)) return few_token_swiglu(weights, x);
  return reference::swiglu_apply(weights, x);
}

at::Tensor swiglu_hidden(const SwigluMatrices& weights, const at::Tensor& x) {
  check_swiglu("swiglu_hidden", weights);
  check_tokens("swiglu_hidden", "x", x, "gate", weights.gate, -1);
  return reference::swiglu_hidden(weights, x);
}

SwigluMatrices swiglu_descent(const SwigluMatrices& weights, const at::Tensor& k,
                              const at::Tensor& negative_gradient, const SwigluMatrices& rates) {
  constexpr const char* kOp = "swiglu_descent";
  check_swiglu(kOp, weights);
  check_tokens(kOp, "k", k, "gate", weights.gate, -1);
  check_tokens(kOp, "v", negative_gradient, "down", weights.down, -2);
  check_same_tokens(kOp, k, negative_gradient);
  check_rate(kOp, "gate", rates.gate, k, weights.gate);
  check_rate(kOp, "down", rates.down, k, weights.down);
  check_rate(kOp, "up", rates.up, k, weights.up);
  return reference::swiglu_descent(weights, k, negative_gradient, rates);
}

at::Tensor linear_apply(const at::Tensor& weight, const at::Tensor& x) {
  check_tokens("linear_apply", "x", x, "the weight", weight, -1);
  return reference::linear_apply(weight, x);
}

at::Tensor linear_descent(const at::Tensor& weight, const at::Tensor& k, const at::Tensor& negative_gradient,
                          const at::Tensor& rate) {
  constexpr const char* kOp = "linear_descent";
  check_tokens(kOp, "k", k, "the weight", weight, -1);
  check_tokens(kOp, "v", negative_gradient, "the weight", weight, -2);
  check_same_tokens(kOp, k, negative_gradient);
  check_rate(kOp, "the weight", rate, k, weight);
  return reference::linear_descent(k, negative_gradient, rate).to(weight.scalar_type());
}

}  // namespace lact::ttt
