// Camera rays as a view-synthesis model reads them: Plücker coordinates of the line through every pixel.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lact::ops {

/// Rays through the pixel centres of pictures of `height` x `width`.
/// intrinsics [..., 4] are fx, fy, cx, cy in pixels; camera_to_world [..., 4, 4] has OpenCV's axes.
/// [..., 9, height, width]: origin o, unit direction d, and o × d, each x, y, z.
at::Tensor plucker_rays(const at::Tensor& intrinsics, const at::Tensor& camera_to_world, int64_t height,
                        int64_t width);

}  // namespace lact::ops
