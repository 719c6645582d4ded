// The result of `lact video eval`, and how it is shown.
#pragma once

#include <string>
#include <vector>

#include "lact/cli/evaluation.h"
#include "lact/tasks/video/evaluation/denoising_loss.h"

namespace lact::cli {

struct ScoredVideo {
  std::string name, folder, mixer;
  int64_t parameters = 0;  ///< of the transformer
};

/// A clip and what the models make of its beginning.
struct ContinuedClip {
  std::string caption, file;
  at::Tensor image;  ///< uint8 [H, W, 3]
};

struct VideoEvaluation {
  tasks::video::DenoisingOptions options;
  std::string clips;  ///< in words
  int64_t chunks = 0, given = 0;
  std::vector<ScoredVideo> models;
  std::vector<tasks::video::DenoisingScore> scores;
  std::vector<ContinuedClip> continued;
};

Evaluation show(const VideoEvaluation& result);

void write_video_report(const VideoEvaluation& result, const std::string& path);

}  // namespace lact::cli
