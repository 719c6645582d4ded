#include "lact/tasks/nvs/presentation.h"

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/data/views/camera_path.h"
#include "lact/eval/training_curves.h"
#include "lact/io/frame_output.h"

namespace lact::tasks::nvs {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kTurntableFrames = 120, kPathFrames = 240;
constexpr double kFramesPerSecond = 30;

/// A path of the scene's cameras that shows it: around it, or from photo to photo.
std::vector<data::Camera> video_path(const std::vector<data::Camera>& cameras, bool turntable) {
  if (turntable) return data::turntable_cameras_around(cameras, kTurntableFrames);
  const auto gaps = int64_t(cameras.size()) - 1;
  return data::interpolate_cameras(cameras, gaps > 0 ? std::max<int64_t>(0, kPathFrames / gaps - 1) : 0);
}

}  // namespace

eval::Plot psnr_curve(const std::string& folder, const std::string& title, double& minutes) {
  const eval::Curves curves = eval::read_curves(folder);
  const auto psnr = curves.find("valid_psnr"), time = curves.find("minutes");
  LACT_CHECK(psnr != curves.end() && time != curves.end(), "{}: metrics.jsonl has no PSNR against minutes",
             folder);
  eval::Series series = {.name = "held-out photos", .x = {}, .y = psnr->second.value};
  for (const double step : psnr->second.step) {
    const auto& steps = time->second.step;
    const auto after = std::upper_bound(steps.begin(), steps.end(), step);
    series.x.push_back(time->second.value[size_t(std::max<int64_t>(0, after - steps.begin() - 1))]);
  }
  minutes = series.x.back();
  return {.title = title, .x_label = "minutes", .y_label = "PSNR, dB", .series = {series}};
}

std::string write_scene_video(const std::function<at::Tensor(const data::Camera&)>& render,
                              const std::vector<data::Camera>& cameras, const std::string& folder,
                              const std::function<void(int64_t, int64_t)>& on_frame) {
  const bool turntable = data::look_from_all_sides(cameras);
  const auto path = video_path(cameras, turntable);
  const std::string stem = (fs::path(folder) / (turntable ? "turntable" : "path")).string();
  std::string name = stem + ".mp4";
  try {
    io::check_frame_output(name);
  } catch (const Error& error) {
    log::warn("{}; frames go to {} instead", error.what(), stem);
    fs::remove_all(stem);  // of an earlier end of this run
    name = stem;
  }
  io::FrameOutput output(name, {path.size(), {path.front().height, path.front().width}}, kFramesPerSecond);
  for (size_t i = 0; i < path.size(); ++i) {
    output.write(render(path[i]));
    if (on_frame) on_frame(int64_t(i) + 1, int64_t(path.size()));
  }
  output.finish();
  return name;
}

}  // namespace lact::tasks::nvs
