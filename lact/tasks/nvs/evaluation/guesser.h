// What guesses views of a scene that it has not seen: a model that reads others, or Gaussians made of them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lact/data/views/frame_choice.h"
#include "lact/data/views/test_views.h"
#include "lact/models/nvs/view_model.h"

namespace lact::tasks::nvs {

struct NamedNvs {
  std::string name;
  std::shared_ptr<models::ViewModel> model;
  /// The coordinates that it was trained in. A mean pose is that of the views it reads.
  data::FrameChoice frame = data::FrameChoice::mean_pose;
};

/// The targets of a scene, guessed from some of its other views.
struct GuessedViews {
  at::Tensor pictures;             ///< [T, 3, H, W], the targets in their order
  double reconstruct_seconds = 0;  ///< to read the views, or the file
  double render_seconds = 0;       ///< per view
};
GuessedViews guess_views(const NamedNvs& model, const data::TestViews& scene, int64_t inputs);

struct Guesser {
  std::string name;
  int64_t patch_size = 1;   ///< pictures consist of whole patches
  bool reads_views = true;  ///< if not, it is asked once, for 0 inputs
  std::function<GuessedViews(const data::TestViews& scene, int64_t inputs)> guess;
};

Guesser guesser_of(const NamedNvs& model);

/// The .ply file is read whenever it is asked, for the time that takes. Its scene must be the one that is
/// shown.
Guesser guesser_of_gaussians(const std::string& name, const std::string& file);

}  // namespace lact::tasks::nvs
