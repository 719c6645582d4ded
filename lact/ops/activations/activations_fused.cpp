#include <ATen/ATen.h>

#include "lact/kernels/gated_silu.h"
#include "lact/kernels/gelu.h"
#include "lact/ops/activations/activations.h"
#include "lact/ops/dispatch/apply_function.h"
#include "lact/ops/tokens/rows.h"

namespace lact::ops::fused {

namespace {

struct GatedSilu : torch::autograd::Function<GatedSilu> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate,
                            const at::Tensor& up) {
    const at::Tensor gates = with_rows(gate), ups = with_rows(up), y = empty_rows_like(gates);
    const kernels::GatedSiluForward task = {y.scalar_type() == at::kBFloat16,
                                            y.size(-1),
                                            gates.data_ptr(),
                                            ups.data_ptr(),
                                            y.data_ptr(),
                                            rows_of(gates),
                                            rows_of(ups),
                                            rows_of(y)};
    const auto run = kernels::gated_silu_kernels().forward;
    for_row_items(num_rows(y), y.size(-1),
                  [&](int64_t, int64_t begin, int64_t end) { run(task, begin, end); });
    context->save_for_backward({gates, ups});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1];
    const at::Tensor dy = with_rows(gradients[0]);
    const at::Tensor dgate = empty_rows_like(gate), dup = empty_rows_like(up);
    const kernels::GatedSiluBackward task = {dy.scalar_type() == at::kBFloat16,
                                             dy.size(-1),
                                             gate.data_ptr(),
                                             up.data_ptr(),
                                             dy.data_ptr(),
                                             dgate.data_ptr(),
                                             dup.data_ptr(),
                                             rows_of(gate),
                                             rows_of(up),
                                             rows_of(dy),
                                             rows_of(dgate),
                                             rows_of(dup)};
    const auto run = kernels::gated_silu_kernels().backward;
    for_row_items(num_rows(dy), dy.size(-1),
                  [&](int64_t, int64_t begin, int64_t end) { run(task, begin, end); });
    return {dgate, dup};
  }
};

struct GeluTanh : torch::autograd::Function<GeluTanh> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    const at::Tensor inputs = with_rows(x), y = empty_rows_like(inputs);
    const kernels::GeluForward task = {y.scalar_type() == at::kBFloat16,
                                       y.size(-1),
                                       inputs.data_ptr(),
                                       y.data_ptr(),
                                       rows_of(inputs),
                                       rows_of(y)};
    const auto run = kernels::gelu_kernels().forward;
    for_row_items(num_rows(y), y.size(-1),
                  [&](int64_t, int64_t begin, int64_t end) { run(task, begin, end); });
    context->save_for_backward({inputs});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor dy = with_rows(gradients[0]), dx = empty_rows_like(x);
    const kernels::GeluBackward task = {dx.scalar_type() == at::kBFloat16,
                                        dx.size(-1),
                                        x.data_ptr(),
                                        dy.data_ptr(),
                                        dx.data_ptr(),
                                        rows_of(x),
                                        rows_of(dy),
                                        rows_of(dx)};
    const auto run = kernels::gelu_kernels().backward;
    for_row_items(num_rows(dx), dx.size(-1),
                  [&](int64_t, int64_t begin, int64_t end) { run(task, begin, end); });
    return {dx};
  }
};

}  // namespace

bool fits_gated_silu(const at::Tensor& gate, const at::Tensor& up) {
  return fits_rows(gate) && fits_rows(up) && gate.scalar_type() == up.scalar_type();
}

at::Tensor gated_silu(const at::Tensor& gate, const at::Tensor& up) {
  return apply_function<GatedSilu>(gate, up);
}

at::Tensor gelu_tanh(const at::Tensor& x) { return apply_function<GeluTanh>(x); }

}  // namespace lact::ops::fused
