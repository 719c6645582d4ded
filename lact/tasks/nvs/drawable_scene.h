// A scene that is drawn from any camera: photos in fast weights, or Gaussians. What the verbs that render and
// show scenes know of it.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "lact/data/views/camera.h"
#include "lact/data/views/normalize.h"

namespace lact::tasks::nvs {

class DrawableScene {
 public:
  virtual ~DrawableScene() = default;

  /// uint8 [H, W, 3], H and W as in `camera`, which is in the scene's own coordinates.
  virtual at::Tensor render(const data::Camera& camera) const = 0;

  /// Such as its file: the beginning of error sentences.
  virtual const std::string& name() const = 0;

  /// One line about it, such as "16 input views, 6 layers of width 256".
  virtual std::string details() const = 0;

  /// Where to look from, in the scene's own coordinates, at least one: its photos, where they are known.
  virtual const std::vector<data::Camera>& cameras() const = 0;
  virtual bool knows_photos() const { return true; }

  /// From the coordinates of the photos to the scene's.
  virtual data::SceneFrame frame() const = 0;

  /// Heights and widths are multiples of it.
  virtual int64_t patch_size() const = 0;
};

}  // namespace lact::tasks::nvs
