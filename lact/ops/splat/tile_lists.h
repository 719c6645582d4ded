// Which Gaussians are in front of each tile of a picture, nearest first.
#pragma once

#include <ATen/core/Tensor.h>

#include "lact/kernels/splat.h"

namespace lact::ops {

struct TileLists {
  int64_t rows = 0, columns = 0;
  at::Tensor starts;  ///< int64 [tiles + 1], into pairs
  at::Tensor pairs;   ///< int32 [P, 2]: kernels::SplatPair
  at::Tensor firsts;  ///< int64 [N + 1]: ids of the pairs of each Gaussian
};

/// Equal depths in input order.
template <class Number>
TileLists tile_lists(const kernels::SplatRecord<Number>* records, int64_t count, int64_t height,
                     int64_t width);

}  // namespace lact::ops
