// What `lact nvs eval` is asked for, its result, and how it is shown.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lact/cli/evaluation.h"
#include "lact/data/views/protocol.h"
#include "lact/tasks/nvs/evaluation/view_scores.h"
#include "lact/tasks/nvs/load.h"

namespace lact::cli {

struct NvsEvalArguments {
  std::vector<std::string> models, splats, photos;
  std::optional<int64_t> scenes;
  data::SceneSourceConfig meshes;
  data::CaptureOptions reading;
  data::TestOptions test;
  tasks::nvs::LoadOptions load;
  std::string protocol, size, frame, lpips, network = "squeeze", output;
  bool json = false;
};

struct ScoredNvs {
  std::string name, folder, mixer, frame;  ///< of Gaussians: their file, kGaussians and "given"
  int64_t parameters = 0;
};

/// Of one scene: a file beside the report, and the first ones of each group for the report itself.
struct ComparisonSheet {
  std::string group, scene, file;
  std::vector<int64_t> counts;
  at::Tensor image;  ///< uint8 [H, W, 3]; undefined where it is only a file
};

inline constexpr const char* kGaussians = "gaussians";

struct NvsEvaluation {
  std::optional<data::TestProtocol> protocol;
  data::TestOptions test;
  std::optional<models::LpipsNetwork> lpips;
  std::vector<ScoredNvs> models;
  std::vector<tasks::nvs::ViewScore> scores;
  std::vector<ComparisonSheet> sheets;

  /// Whether any of them is more than Gaussians.
  bool reads_views() const {
    return std::any_of(models.begin(), models.end(), [](const auto& one) { return one.mixer != kGaussians; });
  }
};

/// Models first. The pictures have the size of the first model's training unless one is given, or without
/// models that of the photos.
std::vector<tasks::nvs::Guesser> load_guessers(const NvsEvalArguments& arguments, NvsEvaluation& result);

/// Letters, digits, '-' and '.' stay; what else a name of a scene or model holds becomes '_'.
std::string word_for_file(const std::string& name);

Evaluation show(const NvsEvaluation& result);

void write_nvs_report(const NvsEvaluation& result, const std::string& path);

}  // namespace lact::cli
