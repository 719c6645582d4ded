#include "lact/tasks/nvs/fitting/results.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/eval/plot.h"
#include "lact/io/picture_sheet.h"
#include "lact/io/png.h"
#include "lact/tasks/nvs/presentation.h"
#include "lact/tasks/nvs/session.h"

namespace lact::tasks::nvs {

namespace {

namespace fs = std::filesystem;

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
  eval::write_svg(results.curve, psnr_curve(folder, "Fit", results.minutes));

  models::NvsScene scene = read_photos(fitted, capture, photos.inputs, {run.stages.front().size, run.frame});
  scene.model_path = fs::absolute(folder).lexically_normal().string();
  results.scene = place("scene.fw");
  models::save_scene(results.scene, scene, fitted.fingerprint);
  const Session shown = Session::open(fitted, results.scene);
  results.video = write_scene_video([&](const data::Camera& camera) { return shown.render(camera); },
                                    shown.cameras(), folder, on_frame);
  return results;
}

}  // namespace lact::tasks::nvs
