// What a run of `lact nvs splat` leaves beside the .ply.
#pragma once

#include <functional>
#include <string>

#include "lact/tasks/nvs/splatting/run.h"

namespace lact::tasks::nvs {

struct SplatFiles {
  std::string sheet, curve, video;  ///< files, or a folder of frames
};

/// For the finished run that made `ply`, in its folder: sheet.png (a row for each held-out photo: truth,
/// splats), curve.svg, and turntable.mp4 or path.mp4.
SplatFiles write_splat_files(const SplatRun& run, const std::string& ply,
                             const std::function<void(int64_t done, int64_t total)>& on_frame = {});

}  // namespace lact::tasks::nvs
