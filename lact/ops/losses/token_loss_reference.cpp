#include <ATen/ATen.h>

#include "lact/ops/dispatch/dtypes.h"
#include "lact/ops/losses/token_loss.h"

namespace lact::ops::reference {

at::Tensor token_losses(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets) {
  const at::Tensor logits = at::matmul(hidden, weight.t().to(hidden.scalar_type()));
  return at::cross_entropy_loss(at_least_float(logits), targets, {}, at::Reduction::None);
}

}  // namespace lact::ops::reference
