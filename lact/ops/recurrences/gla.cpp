#include "lact/ops/recurrences/gla.h"

namespace lact::ops {

RecurrenceResult gla(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state, double scale) {
  return reference::gla(q, k, v, log_decay, state, scale);
}

}  // namespace lact::ops
