#include "lact/tasks/nvs/session.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/data/views/camera_file.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/picture_sheet.h"

namespace lact::tasks::nvs {

namespace {

data::Camera input_camera(const models::NvsScene& scene, size_t index, const std::string& name) {
  const at::Tensor intrinsics = scene.intrinsics[int64_t(index)].to(at::kDouble),
                   pose = scene.camera_to_world[int64_t(index)].to(at::kDouble);
  data::Camera camera;
  camera.width = scene.sizes[index].width;
  camera.height = scene.sizes[index].height;
  camera.fx = intrinsics[0].item<double>();
  camera.fy = intrinsics[1].item<double>();
  camera.cx = intrinsics[2].item<double>();
  camera.cy = intrinsics[3].item<double>();
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j) camera.camera_to_world[size_t(i)][size_t(j)] = pose[i][j].item<double>();
  const std::string where = fmt::format("{}: view {}", name, index);
  data::check_intrinsics(camera, where);
  data::check_pose(camera.camera_to_world, where);
  return camera;
}

}  // namespace

models::NvsScene read_photos(const Loaded& nvs, const data::Capture& photos,
                             const std::vector<int64_t>& chosen, const ReadOptions& options) {
  GrowingScene scene(nvs, options);
  scene.read(photos, chosen);
  return scene.take();
}

Session::Session(std::shared_ptr<models::ViewModel> model, models::NvsScene scene, std::string name)
    : model_(std::move(model)),
      scene_(std::move(scene)),
      name_(std::move(name)),
      frame_{scene_.world_to_scene, scene_.scale} {
  data::check_pose(frame_.world_to_scene, name_ + ": the frame of the scene");
  for (size_t i = 0; i < scene_.sizes.size(); ++i) cameras_.push_back(input_camera(scene_, i, name_));
  LACT_CHECK(!cameras_.empty(), "{}: the scene has no input views", name_);
}

Session Session::open(const Loaded& nvs, const std::string& scene_file) {
  return {nvs.model, models::load_scene(scene_file, *nvs.model, nvs.fingerprint), scene_file};
}

std::string Session::details() const {
  return fmt::format("{} input views, {} layers of width {}", cameras_.size(), config().num_layers,
                     config().model_dim);
}

at::Tensor Session::render(const data::Camera& camera) const {
  data::check_patches(camera.height, camera.width, patch_size());
  return io::to_bytes(model_->render(*scene_.state, data::intrinsics_of({camera})[0],
                                     data::camera_to_world_of({camera})[0], camera.height, camera.width));
}

}  // namespace lact::tasks::nvs
