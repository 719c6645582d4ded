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

/// The scene of a file, read again when the file is replaced by a newer one.
class SceneFileFrames : public FrameSource {
 public:
  SceneFileFrames(Loaded nvs, std::string file, int64_t full_side = 0);

  SceneDescription describe() const override { return frames_->describe(); }
  at::Tensor render(const data::Camera& camera) override { return frames_->render(camera); }
  /// A file that cannot be read is said once and the scene stays.
  bool refresh() override;

 private:
  /// Differs when another file has taken the name.
  struct Stamp {
    uint64_t number = 0, size = 0;
    int64_t seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp() const;
  void open();

  Loaded nvs_;
  std::string file_;
  int64_t full_side_;
  Stamp seen_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<SceneFrames> frames_;
};

}  // namespace lact::tasks::nvs
