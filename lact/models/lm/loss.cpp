#include "lact/models/lm/loss.h"

#include <ATen/ATen.h>

#include "lact/base/profile.h"
#include "lact/ops/losses/token_loss.h"

namespace lact::models {

namespace {

/// A head in fewer bytes has no matrix that the fused loss could read; without gradients logits stay for a
/// moment only.
at::Tensor losses_of_logits(const LanguageModel& model, const at::Tensor& hidden, const at::Tensor& targets) {
  constexpr int64_t kStretch = 256;
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < hidden.size(0); begin += kStretch) {
    const int64_t count = std::min(kStretch, hidden.size(0) - begin);
    parts.push_back(at::cross_entropy_loss(model.logits(hidden.narrow(0, begin, count)),
                                           targets.narrow(0, begin, count), {}, at::Reduction::None));
  }
  return at::cat(parts);
}

}  // namespace

at::Tensor next_token_losses(const LanguageModel& model, const at::Tensor& hidden,
                             const at::Tensor& targets) {
  const profile::Scope part("head and loss");
  const at::Tensor flat = hidden.flatten(0, 1), wanted = targets.flatten().to(hidden.device());
  return (model.is_compressed() ? losses_of_logits(model, flat, wanted)
                                : ops::token_losses(flat, model.head_weight(), wanted))
      .view(targets.sizes())
      .to(targets.device());
}

}  // namespace lact::models
