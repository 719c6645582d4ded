// Where training scenes come from: photos, meshes, seeds, or a mix of them.
#pragma once

#include <memory>
#include <optional>

#include "lact/data/views/photo_source.h"
#include "lact/data/views/scene_source.h"

namespace lact::data {

/// Safe for several threads.
class ViewSource {
 public:
  /// Of the scenes, config.photo_share are photos; the others are rendered. All of them are seen in the
  /// coordinates of `frame`.
  ViewSource(const SceneSourceConfig& scenes, const PhotoConfig& photos, FrameChoice frame, ScenePart part);

  /// As DrawViews.
  std::vector<Camera> draw(uint64_t seed, const BatchShape& shape, const StopCheck& stop_check,
                           float* pixels) const;

  const PhotoSource* photos() const { return photos_ ? &*photos_ : nullptr; }

 private:
  double photo_share_;
  FrameChoice frame_;
  DrawViews rendered_;
  std::optional<PhotoSource> photos_;
};

/// The function of a source that others may hold, too.
inline DrawViews draw_from(std::shared_ptr<const ViewSource> source) {
  return
      [source = std::move(source)](uint64_t seed, const BatchShape& shape, const StopCheck& stop_check,
                                   float* pixels) { return source->draw(seed, shape, stop_check, pixels); };
}

}  // namespace lact::data
