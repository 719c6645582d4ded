// A whole training run of a language model, from words to a model folder. The run's folder holds everything
// to go on: run.json, checkpoints/, metrics.jsonl, tensorboard/, and the model as others read it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lact/data/text/recall_text.h"
#include "lact/data/text/text_format.h"
#include "lact/tasks/lm/training/task.h"
#include "lact/train/precision.h"
#include "lact/train/trainer.h"

namespace lact::train {

struct LmDataOptions {
  std::vector<std::string> data;
  std::vector<std::string> valid;
  double valid_share = 0.05;
  std::string tokenizer = "bytes";
  std::string cache;
  data::TextFormat format;
  data::RecallTextOptions recall;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("data", data,
          "text or JSON-lines files or folders, also packed; without any, the built-in recall text");
    field("valid", valid, "text files or folders to validate on; without any, a share of the data");
    field("valid_share", valid_share,
          "that share, of files, of the documents of JSON lines, or of a single file's tokens");
    field("tokenizer", tokenizer, "bytes, or a SentencePiece model");
    field("cache", cache, "folder for tokenised text; by default beside the data");
    field("format", format, "what the files hold");
    field("recall", recall, "the built-in text");
  }
  bool operator==(const LmDataOptions&) const = default;
};

struct LmRun {
  models::LmConfig model;
  LmDataOptions data;
  LmBatches batches;
  TrainOptions training;
  Precision precision = Precision::f32;
  nn::Recompute recompute = nn::Recompute::none;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model", model, "the model");
    field("data", data, "the text");
    field("batches", batches, "how the text is cut");
    field("training", training, "the training loop");
    field("precision", precision, "f32, or bf16 for matrix products; weights and fast weights stay f32");
    field("recompute", recompute, nn::kRecomputeHelp);
  }

  /// Throws one sentence for values that cannot work.
  void check() const;
};

/// The sequences to train and validate on.
struct LmSources {
  std::shared_ptr<data::Tokenizer> tokenizer;
  std::shared_ptr<data::TokenSource> train, valid;
};
LmSources open_sources(const LmDataOptions& options, int64_t seed);

/// Trains in `folder`; with `initial_model`, from the weights of that model folder. The folder must not hold
/// another run.
TrainResult start_run(const LmRun& run, const RunOptions& options, const std::string& initial_model = "");

/// The settings of the run in `folder`.
LmRun read_run(const std::string& folder);

/// Goes on with the run in options.folder from its newest checkpoint.
TrainResult resume_run(const RunOptions& options);

/// What a run would take: parameters, memory, work and time, as text.
std::string plan_text(const LmRun& run);

}  // namespace lact::train
