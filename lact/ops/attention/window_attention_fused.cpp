// The autograd function of window attention on a processor.
#include <ATen/ATen.h>
#include <torch/autograd.h>

#include "lact/ops/attention/window_attention.h"
#include "lact/ops/attention/window_attention_run.h"

namespace lact::ops::fused {

namespace {

struct WindowAttention : torch::autograd::Function<WindowAttention> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& v,
                            const c10::intrusive_ptr<AttentionPieces>& window) {
    const AttentionInputs in = {q, k, v, {}, {}};
    const at::Tensor log_sums = at::empty({in.batch(), in.num_heads(), in.num_queries()}, at::kFloat);
    const at::Tensor out = run_attention(in, *window, log_sums);
    context->save_for_backward({q, k, v, out, log_sums});
    context->saved_data["window"] = at::IValue::make_capsule(window);
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list incoming) {
    const auto saved = context->get_saved_variables();
    const auto window =
        c10::static_intrusive_pointer_cast<AttentionPieces>(context->saved_data["window"].toCapsule());
    const AttentionInputs in = {saved[0], saved[1], saved[2], {}, {}};
    const auto wanted = [&](size_t i, const at::Tensor& x, auto make) {
      return context->needs_input_grad(i) ? make(x.sizes(), x.options()) : at::Tensor();
    };
    const auto empty = [](auto sizes, auto options) { return at::empty(sizes, options); };
    const auto zeros = [](auto sizes, auto options) { return at::zeros(sizes, options); };
    // Queries outside of all blocks are not visited; every key is.
    const InputGradients gradients = {wanted(0, in.q, zeros), wanted(1, in.k, empty), wanted(2, in.v, empty)};
    const at::Tensor out_gradient = incoming[0].stride(3) == 1 ? incoming[0] : incoming[0].contiguous();
    run_attention_backward(in, *window, saved[3], out_gradient, saved[4], gradients);
    return {gradients.q, gradients.k, gradients.v, at::Tensor()};
  }
};

}  // namespace

bool fits_window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const auto usable = [&](const at::Tensor& x) {
    return x.is_cpu() && x.layout() == at::kStrided && x.scalar_type() == q.scalar_type() && x.numel() > 0 &&
           x.stride(3) == 1;
  };
  return (q.scalar_type() == at::kFloat || q.scalar_type() == at::kBFloat16) && usable(q) && usable(k) &&
         usable(v);
}

at::Tensor window_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const Window& window, int64_t first_query, int64_t first_key) {
  const auto pieces = c10::make_intrusive<AttentionPieces>(window, first_query, first_key);
  const bool differentiable =
      at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  if (!differentiable) return run_attention({q, k, v, {}, {}}, *pieces, at::Tensor());
  return WindowAttention::apply(q, k, v, pieces);
}

}  // namespace lact::ops::fused
