// A scene in fast weights, as a file: what a model remembers of its images, and where they were taken from.
// With LaCT its size does not depend on the number of images.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lact/models/nvs/model.h"

namespace lact::models {

struct ViewSize {
  int64_t height = 0, width = 0;
  bool operator==(const ViewSize&) const = default;
};

/// A scene: a state and the cameras of its input views, as the model was given them.
struct NvsScene {
  std::unique_ptr<NvsState> state;
  at::Tensor intrinsics;        ///< [V, 4]
  at::Tensor camera_to_world;   ///< [V, 4, 4]
  std::vector<ViewSize> sizes;  ///< V
};

/// `model_hash` is fingerprint(model). Written whole or not at all.
void save_scene(const std::string& path, const NvsScene& scene, const std::string& model_hash);

/// Throws a sentence if the file is not a scene, belongs to another model, or does not fit.
NvsScene load_scene(const std::string& path, NvsModel& model, const std::string& model_hash);

}  // namespace lact::models
