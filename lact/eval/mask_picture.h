// Draws who depends on whom, in the terminal or as a picture. Rows are outputs, columns what they depend on.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace lact::eval {

/// Two masks over the same tokens, bool [T, T]; `window` may be undefined.
struct MaskPicture {
  at::Tensor memory;  ///< through the fast weights
  at::Tensor window;  ///< through window attention
};

/// One or two characters per token, at most `columns` wide. A mask that is too wide is shrunk: a cell then
/// stands for several tokens, is set if any of them is, and a line below says so.
std::string mask_text(const MaskPicture& picture, int64_t columns);

/// uint8 [height, width, 3], with thin lines between the cells; each cell a few pixels, the whole about
/// `pixels` wide.
at::Tensor mask_image(const MaskPicture& picture, int64_t pixels = 640);

}  // namespace lact::eval
