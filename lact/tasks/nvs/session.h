// A scene of the view-synthesis model, picture by picture.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/data/views/normalize.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/tasks/nvs/serving/frame_source.h"

namespace lact::serve {

struct NvsSourceOptions {
  std::string name;       ///< of the scene, such as its file: shown, and the beginning of error sentences
  int64_t full_side = 0;  ///< the longer side of a frame when nothing moves; 0: that of the first input view
};

class NvsSource : public FrameSource {
 public:
  /// Throws a sentence if the scene's cameras or coordinates cannot be right.
  NvsSource(std::shared_ptr<models::NvsModel> model, models::NvsScene scene, NvsSourceOptions options);

  SceneDescription describe() const override;

  /// `camera` is in the scene's own coordinates, as the input views are.
  at::Tensor render(const data::Camera& camera) override;

  /// The input views.
  const std::vector<data::Camera>& cameras() const { return cameras_; }

  /// From the coordinates of the photos to the scene's.
  const data::SceneFrame& frame() const { return frame_; }

  int64_t patch_size() const { return model_->config().patch_size; }

 private:
  std::shared_ptr<models::NvsModel> model_;
  models::NvsScene scene_;
  NvsSourceOptions options_;
  std::vector<data::Camera> cameras_;
  data::SceneFrame frame_;
};

}  // namespace lact::serve
