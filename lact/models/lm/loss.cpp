#include "lact/models/lm/loss.h"

#include <ATen/ATen.h>

#include "lact/base/profile.h"
#include "lact/nn/recompute.h"

namespace lact::models {

namespace {

/// Logits of so many elements at a time, 64 MB of float32.
constexpr int64_t kLogits = int64_t(1) << 24;

}  // namespace

at::Tensor next_token_losses(const LanguageModel& model, const at::Tensor& hidden,
                             const at::Tensor& targets) {
  const at::Tensor flat = hidden.flatten(0, 1), wanted = targets.flatten();
  const int64_t tokens = flat.size(0);
  const int64_t stretch = std::max<int64_t>(1, kLogits / model.config().vocabulary_size);
  const auto losses = [&model](const at::Tensor& part, const at::Tensor& part_targets) {
    const profile::Scope scope("head and loss");
    return at::cross_entropy_loss(model.logits(part), part_targets, {}, at::Reduction::None);
  };
  if (tokens <= stretch) return losses(flat, wanted).view(targets.sizes());
  std::vector<at::Tensor> parts;
  for (int64_t begin = 0; begin < tokens; begin += stretch) {
    const int64_t count = std::min(stretch, tokens - begin);
    const at::Tensor part_targets = wanted.narrow(0, begin, count);
    parts.push_back(nn::recompute(
        [&model, losses, part_targets](const at::Tensor& part) { return losses(part, part_targets); },
        flat.narrow(0, begin, count)));
  }
  return at::cat(parts).view(targets.sizes());
}

}  // namespace lact::models
