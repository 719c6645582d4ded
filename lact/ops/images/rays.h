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

/// A ray told as points that lie on it, so that rays which meet in space are alike: `points` points o' + t d
/// about the ray's nearest to the origin, o' = d × (o × d), with t evenly spaced from -reach to reach; of
/// each coordinate x of a point sine and cosine of 2^k π x for k = 0 ... octaves - 1.
/// rays [..., 9] as above -> [..., 6 · points · octaves].
at::Tensor ray_point_waves(const at::Tensor& rays, int64_t points, int64_t octaves, double reach);

}  // namespace lact::ops
