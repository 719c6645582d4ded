#include "lact/tasks/nvs/splatting/results.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/io/gaussian_ply.h"
#include "lact/io/picture_sheet.h"
#include "lact/io/png.h"
#include "lact/ops/splat/picture.h"
#include "lact/tasks/nvs/gaussian_scene.h"
#include "lact/tasks/nvs/presentation.h"

namespace lact::tasks::nvs {

SplatFiles write_splat_files(const SplatRun& run, const std::string& ply,
                             const std::function<void(int64_t, int64_t)>& on_frame) {
  const HeldOut photos = run.held_out(run.capture());
  const ops::Gaussians gaussians = io::read_gaussians(ply);
  const auto draw = [&](const data::Camera& camera) {
    return ops::splat_picture(gaussians, splat_camera_of(camera), run.splats.background_colour());
  };
  const std::string folder = run_folder_of(ply);
  const auto place = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  SplatFiles files;
  std::vector<std::vector<at::Tensor>> rows;
  for (size_t i = 0; i < photos.truth.images.size(); ++i)
    rows.push_back({photos.truth.images[i], draw(photos.truth.cameras[i])});
  files.sheet = place("sheet.png");
  io::write_png(files.sheet, io::picture_sheet(rows));
  files.curve = place("curve.svg");
  double minutes = 0;
  eval::write_svg(files.curve, psnr_curve(folder, "Splats", minutes));
  files.video = write_scene_video([&](const data::Camera& camera) { return io::to_bytes(draw(camera)); },
                                  photos.shown.cameras, folder, on_frame);
  return files;
}

}  // namespace lact::tasks::nvs
