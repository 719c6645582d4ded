// The measures of `lact lm eval`: each gives a table for people, JSON for programs, and plots.
#pragma once

#include <string>
#include <vector>

#include "lact/cli/evaluation.h"
#include "lact/cli/lm/lm.h"
#include "lact/data/text/text_format.h"
#include "lact/tasks/lm/evaluation/position_loss.h"
#include "lact/tasks/lm/evaluation/recall.h"

namespace lact::cli {

struct EvalArguments {
  std::vector<std::string> models, data;
  data::TextFormat format;
  tasks::lm::LoadOptions load;  ///< of all models
  tasks::lm::PositionLossOptions position;
  tasks::lm::RecallOptions recall;
  data::RecallTextOptions recall_text;
  std::vector<std::string> ruler_tasks;
  std::vector<int64_t> lengths = {1024};
  int64_t examples = 20, answer_tokens = 128;
  std::string haystack, adjectives, nouns;
};

struct NamedLm {
  std::string name;
  tasks::lm::Loaded lm;
};

Evaluation evaluate_loss(const std::vector<NamedLm>& models, const EvalArguments& arguments);
Evaluation evaluate_recall(const std::vector<NamedLm>& models, const EvalArguments& arguments);
Evaluation evaluate_ruler(const std::vector<NamedLm>& models, const EvalArguments& arguments);

}  // namespace lact::cli
