#include <ATen/ATen.h>
#include <torch/autograd.h>

#include "lact/ops/linear/linear.h"
#include "lact/ops/linear/matrix_product.h"

namespace lact::ops::fused {

namespace {

/// [tokens, width]; a view wherever the tokens lie at one distance, as in a slice of joined channels.
at::Tensor token_rows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

at::Tensor with_width(const at::Tensor& rows, const at::Tensor& like, int64_t width) {
  auto sizes = like.sizes().vec();
  sizes.back() = width;
  return rows.view(sizes);
}

at::Tensor run_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor y = product(token_rows(x), weight.t(), x.scalar_type(), bias);
  return with_width(y, x, weight.size(0));
}

// dx = dy W,  dW = dyᵀ x,  db = Σ dy
struct LinearFunction : torch::autograd::Function<LinearFunction> {
  /// An empty bias is none: LibTorch's functions take no undefined tensor.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias) {
    const bool x_needed = x.requires_grad(), weight_needed = weight.requires_grad();
    context->save_for_backward({weight_needed ? x : at::Tensor(), x_needed ? weight : at::Tensor()});
    context->saved_data["bias"] = bias.requires_grad();
    return run_forward(x, weight, bias.numel() > 0 ? bias : at::Tensor());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &gradient = gradients[0];
    const at::Tensor rows = token_rows(gradient);
    at::Tensor dx, dweight, dbias;
    if (weight.defined())
      dx = with_width(product(rows, weight, gradient.scalar_type()), gradient, weight.size(1));
    if (x.defined()) dweight = product(rows.t(), token_rows(x), at::kFloat);
    if (context->saved_data["bias"].toBool()) dbias = rows.sum(0, /*keepdim=*/false, at::kFloat);
    return {dx, dweight, dbias};
  }
};

/// Below this LibTorch's own float32 product is faster: packing the weight is not written off.
constexpr int64_t kFewestTokens = 32;
constexpr int64_t kNarrowest = 32;

bool is_float(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kFloat; }

}  // namespace

bool fits_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!x.is_cpu() || (x.scalar_type() != at::kFloat && x.scalar_type() != at::kBFloat16)) return false;
  if (!is_float(weight) || weight.layout() != at::kStrided || x.layout() != at::kStrided) return false;
  if (bias.defined() && !is_float(bias)) return false;
  if (x.scalar_type() == at::kBFloat16) return x.numel() > 0;
  const int64_t in = weight.size(1), out = weight.size(0);
  return in >= kNarrowest && out >= kNarrowest && x.numel() >= kFewestTokens * in;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const bool recorded = at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad() ||
                                                       (bias.defined() && bias.requires_grad()));
  if (!recorded) return run_forward(x, weight, bias);
  return LinearFunction::apply(x, weight, bias.defined() ? bias : at::empty({0}, weight.options()));
}

}  // namespace lact::ops::fused
