#include "lact/io/picture_sheet.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lact/base/error.h"

namespace lact::io {

namespace {
constexpr int64_t kSheetGap = 2;
}

at::Tensor to_bytes(const at::Tensor& picture) {
  return (picture.detach().to(at::kFloat).clamp(0, 1) * 255).round().to(at::kByte).permute({1, 2, 0});
}

at::Tensor picture_sheet(const std::vector<std::vector<at::Tensor>>& rows) {
  LACT_CHECK(!rows.empty() && !rows[0].empty(), "[picture_sheet] there is no picture");
  const int64_t height = rows[0][0].size(1), width = rows[0][0].size(2);
  size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  at::Tensor sheet = at::full({int64_t(rows.size()) * (height + kSheetGap) - kSheetGap,
                               int64_t(columns) * (width + kSheetGap) - kSheetGap, 3},
                              255, at::kByte);
  for (size_t y = 0; y < rows.size(); ++y) {
    for (size_t x = 0; x < rows[y].size(); ++x) {
      const at::Tensor& picture = rows[y][x];
      LACT_CHECK(
          picture.dim() == 3 && picture.size(0) == 3 && picture.size(1) == height && picture.size(2) == width,
          "[picture_sheet] picture {} of row {} is not [3, {}, {}]", x, y, height, width);
      sheet.narrow(0, int64_t(y) * (height + kSheetGap), height)
          .narrow(1, int64_t(x) * (width + kSheetGap), width)
          .copy_(to_bytes(picture));
    }
  }
  return sheet;
}

}  // namespace lact::io
