#include "lact/data/clips/clip_sheet.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/io/picture_sheet.h"

namespace lact::data {

at::Tensor clip_sheet(const std::vector<at::Tensor>& clips, int64_t columns) {
  LACT_CHECK(columns >= 1, "[clip_sheet] {} columns are asked for, expected at least 1", columns);
  std::vector<std::vector<at::Tensor>> rows;
  for (const at::Tensor& clip : clips) {
    LACT_CHECK(clip.scalar_type() == at::kByte && clip.dim() == 4 && clip.size(0) >= 1 && clip.size(1) == 3,
               "[clip_sheet] a clip has shape {}, expected bytes [F, 3, H, W]", clip.sizes().vec());
    const int64_t frames = clip.size(0), shown = std::min(columns, frames);
    auto& row = rows.emplace_back();
    for (int64_t i = 0; i < shown; ++i)
      row.push_back(clip[shown == 1 ? 0 : i * (frames - 1) / (shown - 1)].to(at::kFloat).div_(255));
  }
  return io::picture_sheet(rows);
}

}  // namespace lact::data
