// What people look at when a scene is done: a video around it or along its photos, and the curve of its PSNR.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "lact/data/views/camera.h"
#include "lact/eval/plot.h"

namespace lact::tasks::nvs {

/// PSNR on the held-out photos against minutes, of the run in `folder`; `minutes` becomes the last of them.
eval::Plot psnr_curve(const std::string& folder, const std::string& title, double& minutes);

/// turntable.mp4 in `folder`, or, where the photos do not look from all sides, path.mp4 from photo to photo;
/// without ffmpeg a folder of frames. Returns its name. `cameras` are those of the photos, `render` gives
/// bytes [H, W, 3].
std::string write_scene_video(const std::function<at::Tensor(const data::Camera&)>& render,
                              const std::vector<data::Camera>& cameras, const std::string& folder,
                              const std::function<void(int64_t done, int64_t total)>& on_frame = {});

}  // namespace lact::tasks::nvs
