#include <ATen/ATen.h>

#include "lact/bench/optimizer_step.h"
#include "lact/cli/bench.h"
#include "lact/models/lm/loss.h"

namespace lact::cli {

bench::TrainStep make_train_step(const std::shared_ptr<models::LanguageModel>& model) {
  return [model, step = bench::OptimizerStep(*model)](const at::Tensor& ids) {
    const int64_t tokens = ids.size(1) - 1;
    step([&] {
      const at::Tensor hidden = model->hidden(ids.narrow(1, 0, tokens));
      return models::next_token_losses(*model, hidden, ids.narrow(1, 1, tokens)).mean();
    });
  };
}

}  // namespace lact::cli
