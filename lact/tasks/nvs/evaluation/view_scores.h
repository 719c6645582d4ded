// How well models guess views they have not seen, against the number of views they have seen, and how long
// that takes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/data/views/frame_choice.h"
#include "lact/data/views/test_views.h"
#include "lact/eval/plot.h"
#include "lact/models/nvs/view_model.h"
#include "lact/tasks/nvs/evaluation/image_metrics.h"

namespace lact::tasks::nvs {

struct NamedNvs {
  std::string name;
  std::shared_ptr<models::ViewModel> model;
  /// The coordinates that it was trained in. A mean pose is that of the views it reads.
  data::FrameChoice frame = data::FrameChoice::mean_pose;
};

/// The targets of a scene, guessed from some of its other views.
struct GuessedViews {
  at::Tensor pictures;  ///< [T, 3, H, W], the targets in their order
  double reconstruct_seconds = 0;
  double render_seconds = 0;  ///< per view
};
GuessedViews guess_views(const NamedNvs& model, const data::TestViews& scene, int64_t inputs);

/// One model on one scene with a number of input views.
struct ViewScore {
  std::string model, group, scene;
  int64_t inputs = 0;
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

/// By scene, model and number of inputs. Throws if a model's patches do not fit the pictures.
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

/// PSNR of one group against the number of input views, a line for each model.
eval::Plot view_psnr_plot(const std::vector<ViewSummary>& summaries, const std::string& group);

/// Times over all groups against the number of input views. LaCT reads in linear time and renders in constant
/// time; full attention takes quadratic and linear time.
eval::Plot reconstruct_time_plot(const std::vector<ViewScore>& scores);
eval::Plot render_time_plot(const std::vector<ViewScore>& scores);

}  // namespace lact::tasks::nvs
