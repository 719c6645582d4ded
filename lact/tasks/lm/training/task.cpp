#include "lact/tasks/lm/training/task.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/loss.h"

namespace lact::train {

void LmBatches::check() const {
  const auto between = [](const char* name, int64_t value, int64_t least, int64_t most) {
    LACT_CHECK(value >= least && value <= most, "[train] {} is {}, expected {} to {}", name, value, least,
               most);
  };
  between("batch", batch, 1, 1 << 16);
  between("length", length, 1, int64_t(1) << 30);
  between("valid_sequences", valid_sequences, 1, 1 << 20);
}

LmTask::LmTask(std::shared_ptr<models::LanguageModel> model, std::shared_ptr<data::TokenSource> train,
               std::shared_ptr<data::TokenSource> valid, const LmBatches& batches)
    : model_(std::move(model)), train_(std::move(train)), valid_(std::move(valid)), batches_(batches) {
  batches.check();
  read(*train_, 0, 1);  // a text that is too short is a mistake now, not after the first save
  if (valid_ && valid_->num_sequences(batches_.length + 1) == 0 && train_->num_sequences(1) > 0) {
    log::warn("the text to validate on is shorter than a sequence of {} tokens: there is no validation",
              batches_.length);
    valid_ = nullptr;
  }
}

at::Tensor LmTask::read(const data::TokenSource& source, int64_t first, int64_t count) const {
  const int64_t length = batches_.length + 1;
  const at::Tensor ids = at::empty({count, length}, at::kLong);
  for (int64_t i = 0; i < count; ++i) source.sequence(first + i, length, ids[i].data_ptr<int64_t>());
  return ids;
}

at::Tensor LmTask::mean_loss(const at::Tensor& ids) {
  const int64_t length = batches_.length;
  const at::Tensor hidden = model_->hidden(ids.narrow(1, 0, length));
  return models::next_token_losses(*model_, hidden, ids.narrow(1, 1, length)).mean();
}

at::Tensor LmTask::loss(int64_t batch) {
  return mean_loss(read(*train_, batch * batches_.batch, batches_.batch));
}

double LmTask::flops_of_batch(int64_t batch) const {
  // The backward pass is two products for each one of the forward pass.
  return 3 * models::cost(model_->config()).total().flops * double(tokens_of_batch(batch));
}

std::map<std::string, double> LmTask::validate() {
  if (!valid_) return {};
  at::NoGradGuard no_grad;
  const int64_t there = valid_->num_sequences(batches_.length + 1);
  const int64_t count = there > 0 ? std::min(there, batches_.valid_sequences) : batches_.valid_sequences;
  double sum = 0;
  for (int64_t first = 0; first < count; first += batches_.batch) {
    const int64_t rows = std::min(batches_.batch, count - first);
    sum += mean_loss(read(*valid_, first, rows)).item<double>() * double(rows);
  }
  return {{"loss", sum / double(count)}};
}

void LmTask::export_model(const std::string& folder) { models::save_lm(folder, *model_); }

}  // namespace lact::train
