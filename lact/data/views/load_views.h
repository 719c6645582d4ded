// Photos of a scene, decoded when they are needed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lact/data/views/scene.h"

namespace lact::data {

struct DecodedView {
  Camera camera;     ///< of the picture below: its size, and a pinhole
  at::Tensor image;  ///< uint8 [H, W, 3 or 4]
};

/// Decodes and straightens one photo. Where it has another size than the camera file says, the intrinsics are
/// scaled; another shape is an error.
DecodedView decode_view(const View& view);

/// The chosen views in this order, resized to cover `height` x `width`, cropped, on white. Says so once where
/// photos have another size than the camera file states.
PosedImages load_views(const Scene& scene, const std::vector<int64_t>& indices, int64_t height,
                       int64_t width);

}  // namespace lact::data
