// A scene in fast weights, as a file: what a model remembers of its images, and where they were taken from.
// With LaCT its size does not depend on the number of images. Of a Gaussian head it is the Gaussians.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "lact/models/nvs/view_model.h"

namespace lact::models {

/// A scene: a state and the cameras of its input views, as the model was given them.
struct NvsScene {
  std::unique_ptr<NvsState> state;
  at::Tensor intrinsics;             ///< [V, 4]
  at::Tensor camera_to_world;        ///< [V, 4, 4]
  std::vector<io::ImageSize> sizes;  ///< V

  /// The coordinates in which the photos' cameras were given, "the world": a point of it is at
  /// scale * (world_to_scene * point) for the model. Rows; the last one is 0 0 0 1.
  std::array<std::array<double, 4>, 4> world_to_scene = {
      {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
  double scale = 1;

  std::string model_path = {};  ///< where the model was found, a hint; "" says nothing
};

/// What a scene file says of its model, read from its header.
struct SceneOrigin {
  std::string model_hash, model_path;
};
SceneOrigin read_scene_origin(const std::string& path);

/// `model_hash` is fingerprint(model). Written whole or not at all.
void save_scene(const std::string& path, const NvsScene& scene, const std::string& model_hash);

/// Throws a sentence if the file is not a scene, belongs to another model, or does not fit.
NvsScene load_scene(const std::string& path, ViewModel& model, const std::string& model_hash);

}  // namespace lact::models
