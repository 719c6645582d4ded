// `lact nvs reconstruct`: all photos at once, or one after the other.
#pragma once

#include <string>
#include <vector>

#include "lact/cli/nvs/nvs.h"
#include "lact/cli/ranks.h"
#include "lact/data/views/capture.h"
#include "lact/tasks/nvs/session.h"

namespace lact::cli {

struct NvsReconstructArguments {
  NvsArguments nvs;
  std::string photos, size, frame, output;
  std::string ply;  ///< of the Gaussians; "": none
  double min_opacity = 0.001;
  data::CaptureOptions reading;
  data::ViewChoice selection = data::ViewChoice::kmeans;
  int64_t views = 0, piece_tokens = models::ReconstructOptions{}.piece_tokens;
  uint64_t seed = 0;
  bool stream = false;
  int64_t every = 4;
  double wait = 0;
  RankOptions ranks;
  bool json = false;
};

/// How a scene was read.
struct SceneReading {
  tasks::nvs::Loaded nvs;
  tasks::nvs::ReadOptions options;
  data::Capture photos;         ///< unless they are waited for
  std::vector<int64_t> chosen;  ///< photos, in the order of the capture
  int64_t available = 0, writes = 1;
  double seconds = 0;
};

std::vector<int64_t> chosen_views(const NvsReconstructArguments& arguments, const data::Capture& photos);

/// Writes what was asked for. A scene file says where the model is to be looked for; the shipped weights are
/// found again by themselves, wherever they are.
void save_reconstructed(const NvsReconstructArguments& arguments, const tasks::nvs::Loaded& nvs,
                        models::NvsScene& scene);

/// Reads photos a few at a time, and keeps the scene file current after each.
void stream_photos(const NvsReconstructArguments& arguments, SceneReading& reading);

}  // namespace lact::cli
