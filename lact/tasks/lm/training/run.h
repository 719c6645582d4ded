// The settings of a training run of a language model, for start_run, resume_run and plan_text of
// lact/train/run.h. The run's folder also holds tokenizer.model.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/data/text/recall_text.h"
#include "lact/data/text/ruler_sequences.h"
#include "lact/data/text/tales.h"
#include "lact/data/text/text_format.h"
#include "lact/nn/recompute.h"
#include "lact/ops/dispatch/precision.h"
#include "lact/tasks/lm/training/task.h"
#include "lact/train/run.h"

namespace lact::tasks::lm {

enum class BuiltInText { recall, ruler, tales };
constexpr std::array<std::pair<BuiltInText, std::string_view>, 3> enum_names(BuiltInText) {
  return {{{BuiltInText::recall, "recall"}, {BuiltInText::ruler, "ruler"}, {BuiltInText::tales, "tales"}}};
}

inline constexpr const char* kBuiltInTextHelp =
    "the built-in text: recall (facts told and asked for), ruler (the needle tasks) or tales (plain English "
    "about people whom a tale comes back to)";

struct DataOptions {
  std::vector<std::string> data;
  std::vector<std::string> valid;
  double valid_share = 0.05;
  std::string tokenizer = "bytes";
  std::string cache;
  data::TextFormat format;
  BuiltInText text = BuiltInText::recall;
  data::RecallTextOptions recall;
  data::RulerTextOptions ruler;
  data::TalesOptions tales;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("data", data, "text or JSON-lines files or folders, also packed; without any, a built-in text");
    field("valid", valid, "text files or folders to validate on; without any, a share of the data");
    field("valid_share", valid_share,
          "that share, of files, of the documents of JSON lines, or of a single file's tokens");
    field("tokenizer", tokenizer, "bytes, or a SentencePiece model");
    field("cache", cache, "folder for tokenised text; by default beside the data");
    field("format", format, "what the files hold");
    field("text", text, kBuiltInTextHelp);
    field("recall", recall, "the recall text");
    field("ruler", ruler, "the needle tasks");
    field("tales", tales, "the tales");
  }
  bool operator==(const DataOptions&) const = default;

  /// Throws one sentence for values that cannot work.
  void check() const;
};

struct Run {
  models::LmConfig model;
  std::string initial_model;
  DataOptions data;
  Batches batches;
  train::TrainOptions training;
  ops::Precision precision = ops::Precision::automatic;
  nn::Recompute recompute = nn::Recompute::none;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model", model, "the model");
    field("initial_model", initial_model, "model folder to begin with; without any, random weights");
    field("data", data, "the text");
    field("batches", batches, "how the text is cut");
    field("training", training, "the training loop");
    field("precision", precision,
          "f32, bf16, or auto: bf16 where this processor multiplies it faster; weights and fast weights stay "
          "f32");
    field("recompute", recompute, nn::kRecomputeHelp);
  }

  // See lact/train/run.h.
  static options::Json in_todays_words(options::Json run);
  void check() const;
  void make_paths_absolute();
  void use_copies_in(const std::string& folder);
  std::shared_ptr<train::Task> make_task(const std::string& folder, const std::string& initial);
  train::Plan plan() const;
};

Sources open_sources(const DataOptions& options, int64_t seed);

}  // namespace lact::tasks::lm
