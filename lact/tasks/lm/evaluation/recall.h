// Recall on the built-in text: how often the answer to a question is right, against the tokens since it was
// mentioned last.
#pragma once

#include <string>
#include <vector>

#include "lact/data/text/recall_text.h"
#include "lact/eval/plot.h"
#include "lact/models/lm/model.h"

namespace lact::tasks::lm {

struct RecallOptions {
  int64_t length = 1024;
  int64_t documents = 64;
  int64_t seed = 1000;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("length", length, "tokens of a document");
    field("documents", documents, "documents");
    field("seed", seed, "seed of the documents");
  }
};

struct Recall {
  std::string name;
  /// Distances [begin, end), powers of two; only those with enough questions.
  struct Bucket {
    int64_t begin, end, asked, right;
    double accuracy() const { return asked > 0 ? double(right) / double(asked) : 0; }
  };
  std::vector<Bucket> buckets;
  double chance = 0;

  /// Of all questions at a distance of at least `least`.
  Bucket beyond(int64_t least) const;
  std::vector<int64_t> asked, right;  ///< by distance
};

/// An answer is right if each of its tokens is the likeliest, given the true ones before it.
Recall recall(const std::string& name, models::LanguageModel& model, const data::Tokenizer& tokenizer,
              const data::RecallTextOptions& text, const RecallOptions& options);

/// With an upright line where the window ends.
eval::Plot recall_plot(const std::vector<Recall>& recalls, int64_t window);

}  // namespace lact::tasks::lm
