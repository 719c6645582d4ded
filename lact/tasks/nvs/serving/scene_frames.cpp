#include "lact/tasks/nvs/serving/scene_frames.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace lact::tasks::nvs
