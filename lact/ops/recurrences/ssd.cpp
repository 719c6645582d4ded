#include "lact/ops/recurrences/ssd.h"

namespace lact::ops {

RecurrenceResult ssd(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decay, const at::Tensor& state) {
  return reference::ssd(q, k, v, log_decay, state);
}

}  // namespace lact::ops
