// A few tokens without gradients, as a text is written: every token is one pass over the state.
#include <cmath>

#include "lact/kernels/recurrence.h"
#include "lact/ops/dispatch/work_items.h"
#include "lact/ops/recurrences/paths.h"

namespace lact::ops::fused {

namespace {

/// Tokens of one head in float32: [T, W], rows without gaps.
struct StepTokens {
  explicit StepTokens(const at::Tensor& x) : tensor(x.detach().to(at::kFloat).contiguous()) {}
  const float* at(int64_t batch, int64_t head, int64_t token) const {
    const int64_t heads = tensor.size(1), own = heads == 1 ? 0 : head;
    return tensor.data_ptr<float>() + ((batch * heads + own) * tensor.size(2) + token) * width();
  }
  int64_t width() const { return tensor.dim() == 4 ? tensor.size(3) : 1; }
  at::Tensor tensor;
};

}  // namespace

bool fits_recurrence(const at::Tensor& v, const at::Tensor& gate, const at::Tensor& state) {
  return v.is_cpu() && (v.scalar_type() == at::kFloat || v.scalar_type() == at::kBFloat16) &&
         gate.scalar_type() == at::kFloat && state.scalar_type() == at::kFloat;
}

RecurrenceResult run_steps(StepGate kind, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const at::Tensor& gate, const at::Tensor& state, double scale) {
  const auto& kernel = kernels::recurrence_kernels();
  const StepTokens queries(q), keys(k), values(v), gates(gate);
  const at::Tensor before = state.detach().contiguous(), behind = at::empty(state.sizes(), at::kFloat);
  const at::Tensor out = at::empty(v.sizes(), at::kFloat);
  const int64_t heads = v.size(1), tokens = v.size(2), width = k.size(3), columns = v.size(3);
  // Columns are shared out where the heads are too few.
  const int64_t wanted = (num_workers() + v.size(0) * heads - 1) / (v.size(0) * heads);
  const int64_t blocks = std::min(wanted, (columns + 63) / 64), block = (columns + blocks - 1) / blocks;
  for_each_item(v.size(0) * heads * blocks, [&](int64_t item, int64_t) {
    const int64_t index = item / blocks, batch = index / heads, head = index % heads;
    const int64_t begin = item % blocks * block, end = std::min(begin + block, columns);
    std::vector<float> query(static_cast<size_t>(width)), decay(static_cast<size_t>(width), 1);
    std::vector<float> written(static_cast<size_t>(columns));
    for (int64_t t = 0; t < tokens; ++t) {
      const float *own = gates.at(batch, head, t), *value = values.at(batch, head, t);
      for (int64_t i = 0; i < width; ++i) {
        query[size_t(i)] = float(scale) * queries.at(batch, head, t)[i];
        if (kind != StepGate::share) {
          decay[size_t(i)] = std::exp(own[kind == StepGate::channel_decay ? i : 0]);
        }
      }
      kernels::RecurrenceStep step = {};
      step.next = behind.data_ptr<float>() + index * width * columns;
      step.state = t == 0 ? before.data_ptr<float>() + index * width * columns : step.next;
      step.decay = kind == StepGate::share ? nullptr : decay.data();
      step.q = query.data(), step.k = keys.at(batch, head, t), step.v = value;
      step.out = out.data_ptr<float>() + (index * tokens + t) * columns;
      step.width = width, step.value_width = columns, step.begin = begin, step.end = end;
      if (kind == StepGate::share) {
        kernel.recall(step);
        for (int64_t i = begin; i < end; ++i) written[size_t(i)] = own[0] * (value[i] - step.out[i]);
        step.v = written.data();
      }
      kernel.step(step);
    }
  });
  return {out.to(v.scalar_type()), behind};
}

}  // namespace lact::ops::fused
