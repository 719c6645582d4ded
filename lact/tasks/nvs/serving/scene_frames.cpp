#include "lact/tasks/nvs/serving/scene_frames.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/data/views/preprocess.h"

namespace lact::tasks::nvs {

SceneFrames::SceneFrames(const Session& session, int64_t full_side)
    : session_(session), full_side_(full_side) {
  const data::Camera& first = session_.cameras().front();
  if (full_side_ == 0) full_side_ = std::max(first.height, first.width);
  data::check_patches(full_side_, full_side_, session_.patch_size());
}

SceneDescription SceneFrames::describe() const {
  SceneDescription description;
  description.name = session_.name();
  description.details = fmt::format("{} input views, {} layers of width {}", session_.cameras().size(),
                                    session_.config().num_layers, session_.config().model_dim);
  description.cameras = session_.cameras();
  description.size_multiple = session_.patch_size();
  description.full_side = full_side_;
  return description;
}

SceneFileFrames::SceneFileFrames(Loaded nvs, std::string file, int64_t full_side)
    : nvs_(std::move(nvs)), file_(std::move(file)), full_side_(full_side) {
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
  auto session = std::make_unique<Session>(Session::open(nvs_, file_));
  frames_ = std::make_unique<SceneFrames>(*session, full_side_);
  session_ = std::move(session);
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
