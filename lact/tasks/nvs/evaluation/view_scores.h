// How well models guess views they have not seen, against the number of views they have seen, and how long
// that takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/eval/plot.h"
#include "lact/tasks/nvs/evaluation/guesser.h"
#include "lact/tasks/nvs/evaluation/image_metrics.h"

namespace lact::tasks::nvs {

/// One model on one scene with a number of input views.
struct ViewScore {
  std::string model, group, scene;
  int64_t inputs = 0;       ///< 0: it reads none, as Gaussians
  ImageScores images = {};  ///< means over the targets
  double reconstruct_seconds = 0;
  double render_seconds = 0;  ///< per view
};

struct ViewScoresOptions {
  const models::Lpips* lpips = nullptr;
  /// Work is counted in views that were read or rendered.
  std::function<void(int64_t done, int64_t total, const std::string& scene)> on_progress = {};
  /// A sheet of each scene, uint8 [H, W, 3]: a row for each of some targets and each model, with the truth
  /// and then what was guessed from more and more views.
  std::function<void(const data::TestCase& scene, const at::Tensor& sheet)> on_sheet = {};
};

/// Targets on a sheet, at most.
inline constexpr int64_t kSheetTargets = 4;

/// By scene, guesser and number of inputs. Throws if a model's patches do not fit the pictures.
std::vector<ViewScore> guesser_scores(const std::vector<Guesser>& guessers,
                                      const std::vector<data::TestCase>& cases,
                                      const ViewScoresOptions& options = {});

/// The same of models alone.
std::vector<ViewScore> view_scores(const std::vector<NamedNvs>& models,
                                   const std::vector<data::TestCase>& cases,
                                   const ViewScoresOptions& options = {});

/// Scores of one model and number of inputs: means over the scenes of a group. Times are medians, which the
/// noise of a busy machine moves little.
struct ViewSummary {
  std::string model, group;
  int64_t inputs = 0;
  int64_t scenes = 0;
  ImageScores images = {};
  double reconstruct_seconds = 0;
  double render_seconds = 0;
};

/// Groups and models in the order in which they appear.
std::vector<ViewSummary> summarize(const std::vector<ViewScore>& scores);

/// PSNR of one group against the number of input views, a line for each model that reads views.
eval::Plot view_psnr_plot(const std::vector<ViewSummary>& summaries, const std::string& group);

/// Times over all groups against the number of input views. LaCT reads in linear time and renders in constant
/// time; full attention takes quadratic and linear time.
eval::Plot reconstruct_time_plot(const std::vector<ViewScore>& scores);
eval::Plot render_time_plot(const std::vector<ViewScore>& scores);

}  // namespace lact::tasks::nvs
