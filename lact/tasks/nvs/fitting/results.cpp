#include "lact/tasks/nvs/fitting/results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/data/views/camera_path.h"
#include "lact/eval/training_curves.h"
#include "lact/io/frame_output.h"
#include "lact/io/picture_sheet.h"
#include "lact/io/png.h"
#include "lact/tasks/nvs/session.h"

namespace lact::tasks::nvs {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kTurntableFrames = 120, kPathFrames = 240;
constexpr double kFramesPerSecond = 30;

/// PSNR on the held-out photos against minutes.
eval::Plot fit_curve(const std::string& folder, double& minutes) {
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
  return {.title = "Fit", .x_label = "minutes", .y_label = "PSNR, dB", .series = {series}};
}

/// A path of the scene's cameras that shows it: around it, or from photo to photo.
std::vector<data::Camera> video_path(const std::vector<data::Camera>& cameras, bool turntable) {
  if (turntable) return data::turntable_cameras_around(cameras, kTurntableFrames);
  const auto gaps = int64_t(cameras.size()) - 1;
  return data::interpolate_cameras(cameras, gaps > 0 ? std::max<int64_t>(0, kPathFrames / gaps - 1) : 0);
}

std::string write_video(const Session& scene, const std::string& folder,
                        const std::function<void(int64_t, int64_t)>& on_frame) {
  const bool turntable = data::look_from_all_sides(scene.cameras());
  const auto path = video_path(scene.cameras(), turntable);
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
    output.write(scene.render(path[i]));
    if (on_frame) on_frame(int64_t(i) + 1, int64_t(path.size()));
  }
  output.finish();
  return name;
}

}  // namespace

ImageScores score_held_out(const FitRun& run, const std::string& folder_or_file) {
  const Loaded nvs = load(folder_or_file, {run.precision});
  const HeldOut photos = held_out_photos(run.capture(), run.held_out());
  return score_images(render_held_out(*nvs.model, photos), at::stack(photos.truth.images));
}

FitResults write_fit_results(const FitRun& run, const std::string& folder,
                             const std::function<void(int64_t, int64_t)>& on_frame) {
  const data::Capture capture = run.capture();
  const HeldOut photos = held_out_photos(capture, run.held_out());
  const at::Tensor truth = at::stack(photos.truth.images);
  const Loaded fitted = load(folder, {run.precision});
  const at::Tensor after = render_held_out(*fitted.model, photos);
  const at::Tensor before = render_held_out(*load(run.initial_model, {run.precision}).model, photos);

  FitResults results;
  results.photos = int64_t(capture.views.size());
  results.held_out = int64_t(photos.targets.size());
  results.before = score_images(before, truth);
  results.after = score_images(after, truth);
  std::vector<std::vector<at::Tensor>> rows;
  for (int64_t i = 0; i < truth.size(0); ++i) rows.push_back({truth[i], after[i], before[i]});
  const auto place = [&](const char* name) { return (fs::path(folder) / name).string(); };
  results.sheet = place("sheet.png");
  io::write_png(results.sheet, io::picture_sheet(rows));
  results.curve = place("curve.svg");
  eval::write_svg(results.curve, fit_curve(folder, results.minutes));

  models::NvsScene scene = read_photos(fitted, capture, photos.inputs, {run.stages.front().size, run.frame});
  scene.model_path = fs::absolute(folder).lexically_normal().string();
  results.scene = place("scene.fw");
  models::save_scene(results.scene, scene, fitted.fingerprint);
  results.video = write_video(Session::open(fitted, results.scene), folder, on_frame);
  return results;
}

}  // namespace lact::tasks::nvs
