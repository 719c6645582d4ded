#include <ATen/ATen.h>

#include "lact/kernels/rope.h"
#include "lact/ops/dispatch/apply_function.h"
#include "lact/ops/rope/rope.h"
#include "lact/ops/tokens/rows.h"

namespace lact::ops::fused {

namespace {

/// angles: cos and sin, [2, T, D/2].
at::Tensor rotate(const at::Tensor& x, const at::Tensor& angles, RopePairs pairs, bool back) {
  const at::Tensor from = x.stride(3) == 1 ? x : x.contiguous();
  const at::Tensor to = at::empty(from.sizes(), from.options());
  const auto* cos = angles.data_ptr<float>();
  const kernels::RopeTask task = {from.scalar_type() == at::kBFloat16,
                                  pairs == RopePairs::neighbours,
                                  back,
                                  from.size(1),
                                  from.size(2),
                                  from.size(3),
                                  from.data_ptr(),
                                  from.stride(0),
                                  from.stride(1),
                                  from.stride(2),
                                  to.data_ptr(),
                                  cos,
                                  cos + angles.stride(0)};
  const auto run = kernels::rope_kernels().rotate;
  for_row_items(from.size(0) * from.size(1), from.size(2) * from.size(3),
                [&](int64_t, int64_t begin, int64_t end) { run(task, begin, end); });
  return to;
}

struct Rope : torch::autograd::Function<Rope> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& angles, int64_t pairs) {
    context->save_for_backward({angles});
    context->saved_data["pairs"] = pairs;
    return rotate(x, angles, RopePairs(pairs), false);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const at::Tensor angles = context->get_saved_variables()[0];
    const auto pairs = RopePairs(context->saved_data["pairs"].toInt());
    return {rotate(gradients[0], angles, pairs, true), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool fits_rope(const at::Tensor& x, const RopeTable& table) {
  return fits_rows(x) && table.angles.defined() && table.angles.is_cpu();
}

at::Tensor rope(const at::Tensor& x, const RopeTable& table, RopePairs pairs) {
  return apply_function<Rope>(x, table.angles, int64_t(pairs));
}

}  // namespace lact::ops::fused
