// Made-up stories as pixels, with the truth about what is seen where. Edges are smoothed; nothing else is
// blurred, but for the backdrop while the camera is between whole pixels.
#pragma once

#include <ATen/core/Tensor.h>

#include "lact/data/clips/story.h"

namespace lact::data::stories {

struct Painting {
  at::Tensor frames;   ///< uint8 [F, 3, H, W]
  at::Tensor visible;  ///< uint8 [things, F, H, W]: the share of a pixel that shows the thing, of 255
};

/// Without `visible`.
at::Tensor paint(const Story& story);
Painting paint_with_truth(const Story& story);

}  // namespace lact::data::stories
