// Several pictures side by side in one, to look at.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace lact::io {

/// Rows of pictures [3, H, W] in [0, 1] of one size -> uint8 [height, width, 3], with thin white gaps. A row
/// may be shorter than the others.
at::Tensor picture_sheet(const std::vector<std::vector<at::Tensor>>& rows);

/// A picture [3, H, W] in [0, 1] as bytes [H, W, 3]; what lies outside is cut off.
at::Tensor to_bytes(const at::Tensor& picture);

}  // namespace lact::io
