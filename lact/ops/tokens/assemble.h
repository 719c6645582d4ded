// Puts computed token ranges together into one tensor.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "lact/ops/tokens/range.h"

namespace lact::ops {

/// Joins `pieces` along `dim` in the order of their positions, zeros where `whole` is not covered. `like`
/// gives the other sizes, dtype and device. Pieces must not overlap.
at::Tensor assemble(std::vector<std::pair<Range, at::Tensor>> pieces, Range whole, int64_t dim,
                    const at::Tensor& like);

}  // namespace lact::ops
