#include "lact/ops/losses/token_loss.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/dispatch/device.h"
#include "lact/ops/dispatch/paths.h"

namespace lact::ops {

namespace {

void check_range(const at::Tensor& targets, int64_t vocabulary) {
  const int64_t smallest = targets.min().item<int64_t>(), largest = targets.max().item<int64_t>();
  LACT_CHECK(smallest >= 0 && largest < vocabulary,
             "[token_losses] targets run from {} to {}, expected 0 to {}", smallest, largest, vocabulary - 1);
}

}  // namespace

at::Tensor token_losses(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets) {
  LACT_CHECK(hidden.dim() == 2 && weight.dim() == 2 && hidden.size(1) == weight.size(1) &&
                 targets.dim() == 1 && targets.size(0) == hidden.size(0),
             "[token_losses] hidden has shape {}, weight {} and targets {}, expected [N, M], [vocabulary, M] "
             "and [N]",
             hidden.sizes().vec(), weight.sizes().vec(), targets.sizes().vec());
  LACT_CHECK(targets.scalar_type() == at::kLong, "[token_losses] targets have type {}, expected int64",
             toString(targets.scalar_type()));
  if (targets.numel() == 0) return reference::token_losses(hidden, weight, targets);
  if (has_values(targets)) check_range(targets, weight.size(0));
  return fused_paths() ? fused::token_losses(hidden, weight, targets)
                       : reference::token_losses(hidden, weight, targets);
}

}  // namespace lact::ops
