// A file becomes a scene to look at: a model's scene file, or Gaussians where its name ends with .ply.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lact/tasks/nvs/gaussian_scene.h"
#include "lact/tasks/nvs/load.h"

namespace lact::tasks::nvs {

struct OpenOptions {
  std::string model{};  ///< of a scene file; "": as load_for_scene finds it
  LoadOptions load{};
  GaussianSceneOptions gaussians{};
};

/// Reads the file as it is now.
using SceneReader = std::function<std::unique_ptr<DrawableScene>()>;

/// What reading the file again does not repeat, such as loading the model, is done here.
SceneReader scene_reader(const std::string& file, const OpenOptions& options);

}  // namespace lact::tasks::nvs
