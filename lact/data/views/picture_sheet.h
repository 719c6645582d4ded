// Pictures side by side, to compare them at a glance.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace lact::data {

/// Rows of pictures [3, H, W] in [0, 1], all of one size -> uint8 [height, width, 3], white between them.
/// Rows may have different lengths, and an undefined tensor leaves its place white.
at::Tensor picture_sheet(const std::vector<std::vector<at::Tensor>>& rows);

/// Pixels between two pictures of a sheet; none are around it.
inline constexpr int64_t kSheetGap = 4;

}  // namespace lact::data
