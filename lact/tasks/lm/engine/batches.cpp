#include "lact/tasks/lm/engine/batches.h"

#include <ATen/ATen.h>

#include "lact/ops/linear/few_tokens.h"

namespace lact::tasks::lm {

void read_in_batches(std::span<models::StreamPiece> pieces) {
  for (size_t begin = 0; begin < pieces.size();) {
    size_t end = begin, tokens = 0;
    do {
      tokens += pieces[end++].tokens.size();
    } while (end < pieces.size() && tokens + pieces[end].tokens.size() <= size_t(ops::kFewTokens));
    const auto group = pieces.subspan(begin, end - begin);
    try {
      models::read_together(group);
    } catch (...) {
      for (auto& piece : group) piece.failure = std::current_exception();
    }
    begin = end;
  }
}

at::Tensor logits_in_batches(const models::LanguageModel& model, const std::vector<at::Tensor>& rows) {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> logits;
  for (const at::Tensor& group : at::cat(rows).split(ops::kFewTokens)) logits.push_back(model.logits(group));
  return logits.size() == 1 ? logits[0] : at::cat(logits);
}

}  // namespace lact::tasks::lm
