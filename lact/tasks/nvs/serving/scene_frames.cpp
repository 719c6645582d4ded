#include "lact/tasks/nvs/serving/scene_frames.h"

#include <sys/stat.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/data/views/preprocess.h"

namespace lact::tasks::nvs {

SceneFrames::SceneFrames(const DrawableScene& scene, int64_t full_side)
    : scene_(scene), full_side_(full_side) {
  const data::Camera& first = scene_.cameras().front();
  const int64_t patch = scene_.patch_size();
  if (full_side_ == 0)
    full_side_ = std::min(std::max(first.height, first.width), std::max(patch, kUsualSide / patch * patch));
  data::check_patches(full_side_, full_side_, patch);
}

SceneDescription SceneFrames::describe() const {
  SceneDescription description;
  description.name = scene_.name();
  description.details = scene_.details();
  description.cameras = scene_.cameras();
  description.size_multiple = scene_.patch_size();
  description.full_side = full_side_;
  return description;
}

SceneFileFrames::SceneFileFrames(SceneReader read, std::string file, int64_t full_side)
    : read_(std::move(read)), file_(std::move(file)), full_side_(full_side) {
  seen_ = stamp();
  open();
}

SceneFileFrames::Stamp SceneFileFrames::stamp() const {
  struct stat status = {};
  if (stat(file_.c_str(), &status) != 0) return seen_;  // gone, or between two names
  return {uint64_t(status.st_ino), uint64_t(status.st_size), int64_t(status.st_mtim.tv_sec),
          int64_t(status.st_mtim.tv_nsec)};
}

void SceneFileFrames::open() {
  auto scene = read_();
  frames_ = std::make_unique<SceneFrames>(*scene, full_side_);
  scene_ = std::move(scene);
}

bool SceneFileFrames::refresh() {
  const Stamp now = stamp();
  if (now == seen_) return false;
  seen_ = now;
  try {
    open();
    return true;
  } catch (const Error& error) {
    log::warn("{}; the scene from before is shown", error.what());
    return false;
  }
}

}  // namespace lact::tasks::nvs
