#include "lact/ops/recurrences/delta_rule.h"

namespace lact::ops {

RecurrenceResult delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& beta, const at::Tensor& state, double scale) {
  return reference::delta_rule(q, k, v, beta, state, scale);
}

}  // namespace lact::ops
