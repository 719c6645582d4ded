// A scene as the viewer shows it.
#pragma once

#include "lact/tasks/nvs/open_scene.h"
#include "lact/tasks/nvs/serving/frame_source.h"

namespace lact::tasks::nvs {

class SceneFrames : public FrameSource {
 public:
  /// `full_side` is the longer side of a frame when nothing moves; 0: that of the first camera, at most
  /// kUsualSide.
  explicit SceneFrames(const DrawableScene& scene, int64_t full_side = 0);

  static constexpr int64_t kUsualSide = 1024;

  SceneDescription describe() const override;
  at::Tensor render(const data::Camera& camera) override { return scene_.render(camera); }

 private:
  const DrawableScene& scene_;
  int64_t full_side_;
};

/// The scene of a file, read again when the file is replaced by a newer one.
class SceneFileFrames : public FrameSource {
 public:
  SceneFileFrames(SceneReader read, std::string file, int64_t full_side = 0);

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

  SceneReader read_;
  std::string file_;
  int64_t full_side_;
  Stamp seen_;
  std::unique_ptr<DrawableScene> scene_;
  std::unique_ptr<SceneFrames> frames_;
};

}  // namespace lact::tasks::nvs
