// The result of `lact nvs eval`, and how it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lact/cli/evaluation.h"
#include "lact/data/views/protocol.h"
#include "lact/tasks/nvs/evaluation/view_scores.h"

namespace lact::cli {

struct ScoredNvs {
  std::string name, folder, mixer, frame;
  int64_t parameters = 0;
};

/// Of one scene: a file beside the report, and the first ones of each group for the report itself.
struct ComparisonSheet {
  std::string group, scene, file;
  std::vector<int64_t> counts;
  at::Tensor image;  ///< uint8 [H, W, 3]; undefined where it is only a file
};

struct NvsEvaluation {
  std::optional<data::TestProtocol> protocol;
  data::TestOptions test;
  std::optional<models::LpipsNetwork> lpips;
  std::vector<ScoredNvs> models;
  std::vector<tasks::nvs::ViewScore> scores;
  std::vector<ComparisonSheet> sheets;
};

/// Letters, digits, '-' and '.' stay; what else a name of a scene or model holds becomes '_'.
std::string word_for_file(const std::string& name);

Evaluation show(const NvsEvaluation& result);

void write_nvs_report(const NvsEvaluation& result, const std::string& path);

}  // namespace lact::cli
