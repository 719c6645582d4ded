// Pictures and cameras in the size that a model takes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "lact/data/views/camera.h"

namespace lact::data {

/// Resizes to cover `height` x `width` and cuts out the middle. uint8 [H, W, 3 or 4] -> [height, width,
/// same]; the camera's focal lengths and centre follow.
at::Tensor resize_and_crop(const at::Tensor& image, int64_t height, int64_t width);
Camera resize_and_crop(const Camera& camera, int64_t height, int64_t width);

/// uint8 [H, W, 3 or 4] -> [H, W, 3]: what is transparent becomes white.
at::Tensor composite_on_white(const at::Tensor& image);

/// uint8 [H, W, 3] -> float32 [3, H, W] in [0, 1].
at::Tensor unit_planes(const at::Tensor& image);

/// Throws a sentence unless a picture of this size can be cut into whole patches.
void check_patches(int64_t height, int64_t width, int64_t patch);

}  // namespace lact::data
