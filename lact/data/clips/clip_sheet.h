// Clips in one picture, to look at: a row for each clip, from left to right in time.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lact::data {

/// Clips uint8 [F, 3, H, W] of one frame size -> uint8 [height, width, 3]. At most `columns` frames of each
/// are shown, evenly spread from the first to the last.
at::Tensor clip_sheet(const std::vector<at::Tensor>& clips, int64_t columns);

}  // namespace lact::data
