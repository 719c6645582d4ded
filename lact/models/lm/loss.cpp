#include "lact/models/lm/loss.h"

#include <ATen/ATen.h>

#include "lact/base/profile.h"
#include "lact/ops/token_loss.h"

namespace lact::models {

at::Tensor next_token_losses(const LanguageModel& model, const at::Tensor& hidden,
                             const at::Tensor& targets) {
  const profile::Scope part("head and loss");
  return ops::token_losses(hidden.flatten(0, 1), model.head_weight(), targets.flatten())
      .view(targets.sizes());
}

}  // namespace lact::models
