#include "lact/eval/mask_picture.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"

namespace lact::eval {

namespace {

/// What a cell shows: bit 0 the memory, bit 1 the window; uint8 [T, T].
at::Tensor cells(const MaskPicture& picture) {
  LACT_CHECK(picture.memory.dim() == 2 && picture.memory.size(0) == picture.memory.size(1),
             "[mask] the mask has shape {}, expected [T, T]", picture.memory.sizes().vec());
  at::Tensor result = picture.memory.to(at::kByte);
  if (picture.window.defined()) {
    LACT_CHECK(picture.window.sizes() == picture.memory.sizes(),
               "[mask] the window has shape {} but the memory {}", picture.window.sizes().vec(),
               picture.memory.sizes().vec());
    result = result + 2 * picture.window.to(at::kByte);
  }
  return result;
}

/// Every `factor` x `factor` cells become one, which shows what any of them shows.
at::Tensor shrunk(const at::Tensor& cells, int64_t factor) {
  if (factor == 1) return cells;
  const int64_t size = (cells.size(0) + factor - 1) / factor, missing = size * factor - cells.size(0);
  const at::Tensor padded =
      at::constant_pad_nd(cells, {0, missing, 0, missing}, 0).view({size, factor, size, factor});
  const auto any = [&](int64_t bit) { return padded.bitwise_and(bit).amax({1, 3}); };
  return any(1) + any(2);
}

}  // namespace

std::string mask_text(const MaskPicture& picture, int64_t columns) {
  static constexpr const char* kGlyphs[] = {"·", "█", "▒", "▓"};
  const int64_t tokens = picture.memory.size(0);
  const int64_t factor = (tokens + columns - 1) / columns;
  const at::Tensor grid = shrunk(cells(picture), factor).contiguous();
  const int64_t repeat = 2 * grid.size(1) <= columns ? 2 : 1;  // two characters are about as wide as high

  std::string text;
  const uint8_t* cell = grid.data_ptr<uint8_t>();
  for (int64_t row = 0; row < grid.size(0); ++row) {
    for (int64_t column = 0; column < grid.size(1); ++column, ++cell) {
      for (int64_t i = 0; i < repeat; ++i) text += kGlyphs[*cell];
    }
    text += '\n';
  }
  if (picture.window.defined()) text += "█ memory  ▒ window  ▓ both\n";
  if (factor > 1) text += fmt::format("one cell is {} x {} tokens\n", factor, factor);
  return text;
}

at::Tensor mask_image(const MaskPicture& picture, int64_t pixels) {
  const at::Tensor grid = cells(picture).to(at::kLong);
  const int64_t tokens = grid.size(0), cell = std::clamp<int64_t>(pixels / tokens, 1, 48);
  const at::Tensor colours = at::tensor({245, 245, 245,  // nothing
                                         46, 98, 178,    // memory
                                         240, 165, 60,   // window
                                         96, 64, 128},   // both
                                        at::kByte)
                                 .view({4, 3});
  at::Tensor image = colours.index_select(0, grid.flatten())
                         .view({tokens, tokens, 3})
                         .repeat_interleave(cell, 0)
                         .repeat_interleave(cell, 1);
  if (cell >= 4) {
    const at::Tensor edges = at::arange(0, tokens * cell, cell, at::kLong);
    image.index_fill_(0, edges, 220).index_fill_(1, edges, 220);
  }
  return image;
}

}  // namespace lact::eval
