// One picture of Gaussians by the kernels: forward, and back with what was kept.
#pragma once

#include "lact/ops/splat/splat.h"
#include "lact/ops/splat/tile_lists.h"

namespace lact::ops::fused {

/// What lies between the Gaussians and a picture. Its tensors take 16 numbers per Gaussian, 8 bytes per pair
/// of Gaussian and tile, and 2 numbers per pixel.
struct SplatPass {
  SplatCamera camera;
  SplatOptions options;
  at::Tensor records;      ///< [N, 16]: kernels::SplatRecord
  TileLists lists;         ///< who is in front of each tile
  at::Tensor left, stops;  ///< [tiles, 256]: kernels::SplatKept
};

/// Gradients of the fields of the Gaussians and of the screen offsets, if there are any.
struct SplatGradients {
  Gaussians gaussians;
  at::Tensor screen_offsets;
};

/// Makes the picture and fills in all but camera and options.
SplatImage splat_forward(SplatPass& pass, const Gaussians& gaussians);

/// From gradients of image, alpha and depth; an undefined one is zero.
SplatGradients splat_backward(const SplatPass& pass, const Gaussians& gaussians, const at::Tensor& image,
                              const at::Tensor& alpha, const at::Tensor& depth);

}  // namespace lact::ops::fused
