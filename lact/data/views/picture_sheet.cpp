#include "lact/data/views/picture_sheet.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/data/views/preprocess.h"

namespace lact::data {

at::Tensor picture_sheet(const std::vector<std::vector<at::Tensor>>& rows) {
  int64_t columns = 0, height = 0, width = 0;
  for (const auto& row : rows) columns = std::max(columns, static_cast<int64_t>(row.size()));
  std::vector<std::vector<at::Tensor>> pictures(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j) {
      pictures[i].push_back(rows[i][j].defined() ? byte_image(rows[i][j]) : at::Tensor());
      const at::Tensor& picture = pictures[i].back();
      if (!picture.defined()) continue;
      if (height == 0) height = picture.size(0), width = picture.size(1);
      LACT_CHECK(
          picture.size(0) == height && picture.size(1) == width,
          "[picture_sheet] row {}, column {} is {} x {} pixels, but the pictures before it are {} x {}", i, j,
          picture.size(1), picture.size(0), width, height);
    }
  }
  LACT_CHECK(height > 0 && width > 0, "[picture_sheet] there are no pictures, expected at least one");
  const auto extent = [](int64_t count, int64_t side) { return count * (side + kSheetGap) - kSheetGap; };
  const auto num_rows = static_cast<int64_t>(rows.size());
  at::Tensor sheet = at::full({extent(num_rows, height), extent(columns, width), 3}, 255, at::kByte);
  for (int64_t i = 0; i < num_rows; ++i) {
    const auto& row = pictures[static_cast<size_t>(i)];
    for (int64_t j = 0; j < static_cast<int64_t>(row.size()); ++j) {
      const at::Tensor& picture = row[static_cast<size_t>(j)];
      if (!picture.defined()) continue;
      sheet.narrow(0, i * (height + kSheetGap), height)
          .narrow(1, j * (width + kSheetGap), width)
          .copy_(picture);
    }
  }
  return sheet;
}

}  // namespace lact::data
