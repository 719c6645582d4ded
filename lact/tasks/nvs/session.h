// A scene that was read into fast weights and is drawn from any camera.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/data/views/capture.h"
#include "lact/data/views/frame_choice.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/tasks/nvs/drawable_scene.h"
#include "lact/tasks/nvs/growing_scene.h"
#include "lact/tasks/nvs/load.h"

namespace lact::tasks::nvs {

/// Reads some of the photos, `chosen`, into a scene, all at once.
models::NvsScene read_photos(const Loaded& nvs, const data::Capture& photos,
                             const std::vector<int64_t>& chosen, const ReadOptions& options);

class Session : public DrawableScene {
 public:
  /// `name` of the scene, such as its file, is the beginning of error sentences. Throws one if the scene's
  /// cameras or coordinates cannot be right.
  Session(std::shared_ptr<models::ViewModel> model, models::NvsScene scene, std::string name);

  /// A scene file and the model that load_for_scene found.
  static Session open(const Loaded& nvs, const std::string& scene_file);

  at::Tensor render(const data::Camera& camera) const override;
  const std::string& name() const override { return name_; }
  std::string details() const override;
  const models::NvsConfig& config() const { return model_->config(); }
  int64_t patch_size() const override { return config().decoded_patch(); }

  /// The input views.
  const std::vector<data::Camera>& cameras() const override { return cameras_; }
  data::SceneFrame frame() const override { return frame_; }

 private:
  std::shared_ptr<models::ViewModel> model_;
  models::NvsScene scene_;
  std::string name_;
  std::vector<data::Camera> cameras_;
  data::SceneFrame frame_;
};

}  // namespace lact::tasks::nvs
