#include <ATen/ATen.h>

#include "lact/base/profile.h"
#include "lact/cli/bench.h"
#include "lact/models/lm/loss.h"
#include "lact/train/adamw.h"

namespace lact::cli {

bench::TrainStep make_train_step(const std::shared_ptr<models::LanguageModel>& model) {
  constexpr double kRate = 1e-4, kClip = 1;
  const auto optimizer = std::make_shared<train::AdamW>(*model, train::AdamWOptions{});
  return [model, optimizer](const at::Tensor& ids) {
    const int64_t tokens = ids.size(1) - 1;
    optimizer->zero_gradients();
    const at::Tensor hidden = model->hidden(ids.narrow(1, 0, tokens));
    models::next_token_losses(*model, hidden, ids.narrow(1, 1, tokens)).mean().backward();
    const profile::Scope part("optimizer");
    const double norm = optimizer->gradient_norm();
    if (norm > kClip) optimizer->scale_gradients(kClip / norm);
    optimizer->step(kRate);
  };
}

}  // namespace lact::cli
