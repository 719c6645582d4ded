#include "lact/tasks/lm/training/task.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/io/atomic_file.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/loss.h"
#include "lact/train/ranges.h"

namespace lact::tasks::lm {

void Batches::check() const {
  train::check_range("batch", batch, 1, 1 << 16);
  train::check_range("length", length, 1, int64_t(1) << 30);
  train::check_range("batch x length", batch * length, 1, int64_t(1) << 32);
  train::check_range("valid_sequences", valid_sequences, 1, 1 << 20);
}

TrainingTask::TrainingTask(std::shared_ptr<models::LanguageModel> model, Sources sources,
                           const Batches& batches)
    : model_(std::move(model)), sources_(std::move(sources)), batches_(batches) {
  batches.check();
  const int64_t vocabulary = model_->config().vocabulary_size;
  LACT_CHECK(sources_.tokenizer->vocabulary_size() <= vocabulary,
             "[train] the tokenizer has {} tokens but the model's vocabulary only {}",
             sources_.tokenizer->vocabulary_size(), vocabulary);
  read(*sources_.train, 0, 1);  // a text that is too short is a mistake now, not after the first save
  auto& [tokenizer, train, valid] = sources_;
  if (valid && valid->num_sequences(batches_.length + 1) == 0 && train->num_sequences(1) > 0) {
    log::warn("the text to validate on is shorter than a sequence of {} tokens: there is no validation",
              batches_.length);
    valid = nullptr;
  }
}

void TrainingTask::set_world(const parallel::World& world) {
  world_ = world;
  model_->set_world(world);
}

at::Tensor TrainingTask::read(const data::TokenSource& source, int64_t first, int64_t count) const {
  const int64_t length = batches_.length + 1;
  const at::Tensor ids = at::empty({count, length}, at::kLong);
  for (int64_t i = 0; i < count; ++i) source.sequence(first + i, length, ids[i].data_ptr<int64_t>());
  return ids;
}

at::Tensor TrainingTask::counted_targets(const data::TokenSource& source, int64_t first,
                                         int64_t count) const {
  const int64_t length = batches_.length;
  if (!batches_.answers_only) return at::ones({count, length});
  const at::Tensor counted = at::zeros({count, length});
  for (int64_t row = 0; row < count; ++row) {
    for (const auto [begin, end] : source.answers(first + row, length + 1)) {
      // Token i is the target at i - 1.
      const int64_t from = std::max<int64_t>(begin - 1, 0);
      counted[row].narrow(0, from, end - 1 - from).fill_(1);
    }
  }
  return counted;
}

at::Tensor TrainingTask::mean_of_counted(const at::Tensor& hidden, const at::Tensor& targets,
                                         const at::Tensor& counted, double total) const {
  const at::Tensor places = counted.flatten().nonzero().flatten();
  if (places.numel() == 0) return hidden.sum() * 0;  // a graph all the same
  const at::Tensor losses = models::next_token_losses(
      *model_, hidden.flatten(0, 1).index_select(0, places.to(hidden.device())).unsqueeze(0),
      targets.flatten().index_select(0, places).unsqueeze(0));
  return losses.sum() / total;
}

at::Tensor TrainingTask::mean_loss(const data::TokenSource& source, int64_t first, int64_t count) {
  const at::Tensor ids = read(source, first, count);
  if (batches_.pack_documents) return mean_loss_of_documents(source, first, ids);
  const int64_t length = batches_.length;
  const at::Tensor hidden = model_->hidden(ids.narrow(1, 0, length));
  if (batches_.answers_only) {
    const at::Tensor counted = counted_targets(source, first, count);
    return mean_of_counted(hidden, model_->own_tokens(ids.narrow(1, 1, length)), model_->own_tokens(counted),
                           counted.sum().item<double>());
  }
  const at::Tensor losses =
      models::next_token_losses(*model_, hidden, model_->own_tokens(ids.narrow(1, 1, length)));
  return world_.mesh.shards() == 1 ? losses.mean() : losses.sum() / double(count * length);
}

// All rows become one: their ends are ends of documents too. The last token of a document has no next one.
at::Tensor TrainingTask::mean_loss_of_documents(const data::TokenSource& source, int64_t first,
                                                const at::Tensor& ids) {
  const int64_t length = batches_.length, rows = ids.size(0);
  std::vector<int64_t> lengths;
  const at::Tensor counted = counted_targets(source, first, rows);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t begin = 0;
    for (const int64_t next : source.document_begins(first + row, length + 1)) {
      counted[row][next - 1] = 0;
      if (next == length) break;
      lengths.push_back(next - begin);
      begin = next;
    }
    lengths.push_back(length - begin);
  }
  const at::Tensor hidden = model_->hidden_of_documents(ids.narrow(1, 0, length).reshape({1, -1}), lengths);
  const auto own = [&](const at::Tensor& all) { return model_->own_tokens(all.reshape({1, -1}), lengths); };
  return mean_of_counted(hidden, own(ids.narrow(1, 1, length)), own(counted), counted.sum().item<double>());
}

at::Tensor TrainingTask::loss(int64_t batch) {
  return mean_loss(*sources_.train, batch * batches_.batch, batches_.batch);
}

double mean_flops(const models::LmConfig& model, int64_t length) {
  // Full attention sees half of a text on average.
  return models::cost(model, {(length + 1) / 2}).total().flops;
}

double TrainingTask::flops_of_batch(int64_t batch) const {
  // The backward pass is two products for each one of the forward pass.
  return 3 * mean_flops(model_->config(), batches_.length) * double(tokens_of_batch(batch));
}

std::map<std::string, double> TrainingTask::validate() {
  if (!sources_.valid) return {};
  at::NoGradGuard no_grad;
  const int64_t there = sources_.valid->num_sequences(batches_.length + 1);
  const int64_t count = there > 0 ? std::min(there, batches_.valid_sequences) : batches_.valid_sequences;
  double sum = 0;
  for (int64_t first = 0; first < count; first += batches_.batch) {
    const int64_t rows = std::min(batches_.batch, count - first);
    sum += mean_loss(*sources_.valid, first, rows).item<double>() * double(rows);
  }
  if (!world_.sequence.alone()) {
    const at::Tensor all = at::full({1}, sum, at::kDouble);
    world_.sequence.sum(all, "adding up the validation loss");
    sum = all.item<double>();
  }
  return {{"loss", sum / double(count)}};
}

void TrainingTask::export_fixed_parts(const std::string& folder) {
  models::save_lm_config(folder, model_->config());
  const std::string bytes = sources_.tokenizer->model_bytes();
  if (bytes.empty()) return;
  io::write_file_atomically((std::filesystem::path(folder) / "tokenizer.model").string(),
                            [&](io::FileWriter& out) { out.write(bytes); });
}

void TrainingTask::export_model(const std::string& folder) { models::save_lm(folder, *model_); }

}  // namespace lact::tasks::lm
