// Loss against position in long sequences: does a token gain from what was read thousands of tokens before
// (the paper's main measure for language models)?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/data/text/token_array.h"
#include "lact/eval/plot.h"
#include "lact/models/lm/model.h"

namespace lact::tasks::lm {

struct PositionLossOptions {
  int64_t length = 8192;
  int64_t sequences = 16;
  int64_t bucket = 0;
  bool same_text = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("length", length, "tokens of a sequence");
    field("sequences", sequences, "sequences, spread evenly over the text; none crosses a document's end");
    field("bucket", bucket, "positions that are averaged; 0 makes sixteen buckets");
    field("same_text", same_text,
          "sequences overlap, each beginning a bucket after the one before, and only tokens that are read at "
          "every position count: what is easy to guess in the text cannot make one position look better than "
          "another");
  }
};

struct PositionLoss {
  std::string name;
  int64_t sequences = 0;
  std::vector<int64_t> end;  ///< of each bucket
  std::vector<double> loss;  ///< mean over bucket and sequences
  double mean = 0;
};

PositionLoss position_loss(const std::string& name, std::shared_ptr<models::LanguageModel> model,
                           const data::TokenArray& tokens, const PositionLossOptions& options,
                           const std::function<void(int64_t done, int64_t total)>& on_progress = {});

eval::Plot position_loss_plot(const std::vector<PositionLoss>& losses);

}  // namespace lact::tasks::lm
