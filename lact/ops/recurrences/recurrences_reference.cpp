// The recurrences as they are written, a token at a time.
#include <ATen/ATen.h>

#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/recurrences/delta_rule.h"
#include "lact/ops/recurrences/gla.h"
#include "lact/ops/recurrences/ssd.h"

namespace lact::ops::reference {

namespace {

/// Sᵀ x for x [B, H, K]: [B, H, V].
at::Tensor read(const at::Tensor& state, const at::Tensor& x) {
  return at::matmul(x.unsqueeze(-2), state).squeeze(-2);
}

at::Tensor outer_product(const at::Tensor& k, const at::Tensor& v) {
  return k.unsqueeze(-1) * v.unsqueeze(-2);
}

/// `write(t, state)` is the state after token t.
template <class Write>
RecurrenceResult run(const at::Tensor& q, const at::Tensor& v, const at::Tensor& state, double scale,
                     const Write& write) {
  RecurrenceResult result = {{}, at_least_float(state)};
  const at::Tensor queries = at_least_float(q) * scale;
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < v.size(2); ++t) {
    result.state = write(t, result.state);
    outputs.push_back(read(result.state, queries.select(2, t)));
  }
  result.out = at::stack(outputs, 2).to(v.scalar_type());
  return result;
}

}  // namespace

RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale) {
  const at::Tensor keys = at_least_float(k), values = at_least_float(v);
  return run(q, v, state, scale, [&](int64_t t, const at::Tensor& s) {
    return log_decay.select(2, t).exp().unsqueeze(-1) * s +
           outer_product(keys.select(2, t), values.select(2, t));
  });
}

RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale) {
  const at::Tensor keys = at_least_float(k), values = at_least_float(v);
  return run(q, v, state, scale, [&](int64_t t, const at::Tensor& s) {
    const at::Tensor key = keys.select(2, t);
    const at::Tensor missing = values.select(2, t) - read(s, key);
    return s + outer_product(key, beta.select(2, t).unsqueeze(-1) * missing);
  });
}

RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state) {
  const at::Tensor keys = at_least_float(k), values = at_least_float(v);
  return run(q, v, state, 1, [&](int64_t t, const at::Tensor& s) {
    const at::Tensor decay = log_decay.select(2, t).exp().unsqueeze(-1).unsqueeze(-1);
    return decay * s + outer_product(keys.select(2, t), values.select(2, t));
  });
}

}  // namespace lact::ops::reference
