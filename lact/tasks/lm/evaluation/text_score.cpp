#include "lact/tasks/lm/evaluation/text_score.h"

#include <ATen/ATen.h>

#include "lact/models/lm/loss.h"

namespace lact::tasks::lm {

void TextScorer::read(std::span<const int64_t> tokens, const OnLosses& on_losses) {
  if (tokens.empty()) return;
  at::NoGradGuard no_grad;
  const auto add = [&](const at::Tensor& hidden, const at::Tensor& targets, int64_t first) {
    const at::Tensor losses = models::next_token_losses(stream_.model(), hidden, targets).flatten();
    total_ += losses.to(at::kDouble).sum().item<double>();
    scored_ += losses.numel();
    if (on_losses) on_losses(losses, first);
  };
  const auto ids = [&](int64_t begin, int64_t count) {
    return at::from_blob(const_cast<int64_t*>(tokens.data()) + begin, {1, count},
                         at::TensorOptions(at::kLong));
  };
  const int64_t begin = stream_.position();
  // The last token of the call before predicts the first of this one.
  if (stream_.last_hidden().defined()) add(stream_.last_hidden().view({1, 1, -1}), ids(0, 1), begin);
  stream_.read(tokens, [&](const at::Tensor& hidden, int64_t first) {
    const int64_t count = std::min(hidden.size(1), int64_t(tokens.size()) - first - 1);
    if (count > 0) add(hidden.narrow(1, 0, count), ids(first + 1, count), begin + first + 1);
  });
}

}  // namespace lact::tasks::lm
