// What the viewer shows: something that renders pictures for cameras.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lact/data/views/camera.h"

namespace lact::tasks::nvs {

struct SceneDescription {
  std::string name;                   ///< shown as the title, such as the scene's file
  std::string details;                ///< one line below it, such as "16 input views, 6 layers"
  std::vector<data::Camera> cameras;  ///< the input views, at least one; the first is where the viewer starts
  int64_t size_multiple = 8;          ///< width and height of a frame are multiples of it (the patch)
  int64_t full_side = 256;            ///< the longer side of a frame when nothing moves
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  virtual SceneDescription describe() const = 0;
  /// Whether there is another scene since it was asked last, from which frames are rendered from now on.
  /// Called by the thread that renders, between frames.
  virtual bool refresh() { return false; }
  /// uint8 [H, W, 3], H and W as in `camera`. Called by one thread. What it throws is shown on the page.
  virtual at::Tensor render(const data::Camera& camera) = 0;
};

}  // namespace lact::tasks::nvs
