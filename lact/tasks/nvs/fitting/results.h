// What a fit leaves: the scene file, a sheet of the held-out photos, a video and the curve.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lact/tasks/nvs/evaluation/image_metrics.h"
#include "lact/tasks/nvs/fitting/run.h"

namespace lact::tasks::nvs {

struct FitResults {
  int64_t photos = 0, held_out = 0;
  ImageScores before, after;  ///< on the held-out photos: of the weights it began with, and fitted
  double minutes = 0;
  std::string scene, sheet, curve, video;  ///< files, or a folder of frames
};

/// On the photos that `run` holds out, the model of a folder or checkpoint as it is.
ImageScores score_held_out(const FitRun& run, const std::string& folder_or_file);

/// For the finished run in `folder`: writes scene.fw, sheet.png (a row for each held-out photo: truth,
/// fitted, before), curve.svg, and turntable.mp4 or, where the photos do not look from all sides, path.mp4;
/// without ffmpeg folders of frames.
FitResults write_fit_results(const FitRun& run, const std::string& folder,
                             const std::function<void(int64_t done, int64_t total)>& on_frame = {});

}  // namespace lact::tasks::nvs
