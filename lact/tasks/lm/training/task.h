// Training a language model: next-token loss on sequences of tokens.
#pragma once

#include <memory>

#include "lact/data/text/token_source.h"
#include "lact/data/text/tokenizer.h"
#include "lact/models/lm/model.h"
#include "lact/train/task.h"

namespace lact::tasks::lm {

struct Batches {
  int64_t batch = 8;
  int64_t length = 1024;
  int64_t valid_sequences = 16;
  bool pack_documents = false;
  bool answers_only = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("batch", batch, "sequences of a batch");
    field("length", length, "tokens of a sequence");
    field("valid_sequences", valid_sequences, "sequences of a validation");
    field("pack_documents", pack_documents,
          "the documents of a sequence know nothing of each other: no memory, attention or loss across their "
          "ends");
    field("answers_only", answers_only,
          "only the answers of the built-in text, and the questions of needle tasks, count for the loss, not "
          "what has to be read for them");
  }
  bool operator==(const Batches&) const = default;

  void check() const;
};

/// The sequences to train and validate on, and what their tokens mean.
struct Sources {
  std::shared_ptr<data::Tokenizer> tokenizer;
  /// Sequences of `valid` are never trained on; without it there is no validation.
  std::shared_ptr<data::TokenSource> train, valid;
};

/// Forward, per token, on average over a text of `length` tokens.
double mean_flops(const models::LmConfig& model, int64_t length);

class TrainingTask : public train::Task {
 public:
  TrainingTask(std::shared_ptr<models::LanguageModel> model, Sources sources, const Batches& batches);

  torch::nn::Module& model() override { return *model_; }
  void set_world(const parallel::World& world) override;
  at::Tensor loss(int64_t batch) override;
  int64_t tokens_of_batch(int64_t /*batch*/) const override { return batches_.batch * batches_.length; }
  double flops_of_batch(int64_t batch) const override;
  std::map<std::string, double> validate() override;
  /// config.json, and the tokenizer if it is a file.
  void export_fixed_parts(const std::string& folder) override;
  void export_model(const std::string& folder) override;

 private:
  /// [batch, length + 1]
  at::Tensor read(const data::TokenSource& source, int64_t first, int64_t count) const;
  /// Which targets count for the loss: [count, length], 1 or 0.
  at::Tensor counted_targets(const data::TokenSource& source, int64_t first, int64_t count) const;
  /// Of `count` sequences from `first` on.
  at::Tensor mean_loss(const data::TokenSource& source, int64_t first, int64_t count);
  at::Tensor mean_loss_of_documents(const data::TokenSource& source, int64_t first, const at::Tensor& ids);
  /// This rank's share of the mean over `total` counted targets: hidden [B, T, M], targets and counted
  /// [B, T] of this rank. Only what counts goes through the output head.
  at::Tensor mean_of_counted(const at::Tensor& hidden, const at::Tensor& targets, const at::Tensor& counted,
                             double total) const;

  std::shared_ptr<models::LanguageModel> model_;
  Sources sources_;
  Batches batches_;
  parallel::World world_;
};

}  // namespace lact::tasks::lm
