#include "lact/ops/norms/norms_fused.h"

#include <ATen/ATen.h>

#include "lact/ops/dispatch/apply_function.h"
#include "lact/ops/tokens/rows.h"

namespace lact::ops::fused {

namespace {

using kernels::RowNorm;

bool fits_channels(const at::Tensor& weight) {
  return !weight.defined() ||
         (weight.is_cpu() && (weight.scalar_type() == at::kFloat || weight.scalar_type() == at::kBFloat16));
}

const float* channels_of(const at::Tensor& weight) {
  return weight.numel() > 0 ? weight.data_ptr<float>() : nullptr;
}

/// Σ over the rows of [rows, width], one after the other.
at::Tensor add_rows(const at::Tensor& sums) {
  if (!sums.defined()) return {};
  const at::Tensor total = sums[0].clone();
  const int64_t width = total.size(0);
  float* to = total.data_ptr<float>();
  const float* from = sums.data_ptr<float>();
  for (int64_t row = 1; row < sums.size(0); ++row) {
    from += width;
    for (int64_t i = 0; i < width; ++i) to[i] += from[i];
  }
  return total;
}

struct Function : torch::autograd::Function<Function> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias, int64_t kind, double epsilon) {
    const at::Tensor from = with_rows(x), to = empty_rows_like(from);
    const int64_t width = from.size(-1), rows = num_rows(from);
    const at::Tensor statistics =
        at::empty({rows, kernels::row_norm_statistics(RowNorm(kind))}, from.options().dtype(at::kFloat));
    const kernels::RowNormForward task = {RowNorm(kind),
                                          from.scalar_type() == at::kBFloat16,
                                          width,
                                          epsilon,
                                          from.data_ptr(),
                                          to.data_ptr(),
                                          rows_of(from),
                                          rows_of(to),
                                          channels_of(weight),
                                          channels_of(bias),
                                          statistics.data_ptr<float>()};
    const auto run = kernels::row_norm_kernels().forward;
    for_row_items(rows, width, [&](int64_t, int64_t begin, int64_t end) { run(task, begin, end); });

    context->save_for_backward({from, weight, statistics});
    context->saved_data["kind"] = kind;
    context->saved_data["epsilon"] = epsilon;
    return to;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &statistics = saved[2];
    const at::Tensor incoming = with_rows(gradients[0]);
    const int64_t width = x.size(-1), rows = num_rows(x), items = num_row_items(rows, width);
    // Every piece of work adds up its own rows; the pieces are then added in their order.
    const auto partial = [&](size_t input) {
      return context->needs_input_grad(input) ? at::empty({items, width}, statistics.options())
                                              : at::Tensor();
    };
    const at::Tensor dx = context->needs_input_grad(0) ? empty_rows_like(x) : at::Tensor();
    const at::Tensor dweight = partial(1), dbias = partial(2);

    kernels::RowNormBackward task = {RowNorm(context->saved_data["kind"].toInt()),
                                     x.scalar_type() == at::kBFloat16,
                                     width,
                                     context->saved_data["epsilon"].toDouble(),
                                     x.data_ptr(),
                                     incoming.data_ptr(),
                                     nullptr,
                                     rows_of(x),
                                     rows_of(incoming),
                                     {},
                                     channels_of(weight),
                                     statistics.data_ptr<float>()};
    if (dx.defined()) {
      task.dx = dx.data_ptr();
      task.dx_rows = rows_of(dx);
    }
    const auto part = [&](const at::Tensor& sums, int64_t item) -> float* {
      if (!sums.defined()) return nullptr;
      float* own = sums.data_ptr<float>() + item * width;
      std::fill(own, own + width, 0.f);
      return own;
    };
    const auto run = kernels::row_norm_kernels().backward;
    for_row_items(rows, width, [&](int64_t item, int64_t begin, int64_t end) {
      run(task, begin, end, part(dweight, item), part(dbias, item));
    });
    return {dx, add_rows(dweight), add_rows(dbias), at::Tensor(), at::Tensor()};
  }
};

/// LibTorch's functions take no undefined tensor: an empty one stands for it.
at::Tensor as_channels(const at::Tensor& weight) {
  return weight.defined() ? weight.to(at::kFloat).contiguous() : at::empty({0}, at::kFloat);
}

}  // namespace

bool fits_row_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return fits_rows(x) && fits_channels(weight) && fits_channels(bias);
}

at::Tensor row_norm(kernels::RowNorm kind, const at::Tensor& x, const at::Tensor& weight,
                    const at::Tensor& bias, double epsilon) {
  return apply_function<Function>(x, as_channels(weight), as_channels(bias), int64_t(kind), epsilon);
}

}  // namespace lact::ops::fused
