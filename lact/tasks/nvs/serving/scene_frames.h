// The scene of a session, as the viewer shows it.
#pragma once

#include "lact/tasks/nvs/serving/frame_source.h"
#include "lact/tasks/nvs/session.h"

namespace lact::tasks::nvs {

class SceneFrames : public FrameSource {
 public:
  /// `full_side` is the longer side of a frame when nothing moves; 0: that of the first input view.
  explicit SceneFrames(const Session& session, int64_t full_side = 0);

  SceneDescription describe() const override;
  at::Tensor render(const data::Camera& camera) override { return session_.render(camera); }

 private:
  const Session& session_;
  int64_t full_side_;
};

}  // namespace lact::tasks::nvs
