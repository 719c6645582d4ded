#include "lact/data/views/view_source.h"

#include "lact/base/error.h"
#include "lact/base/random.h"

namespace lact::data {

ViewSource::ViewSource(const SceneSourceConfig& scenes, const PhotoConfig& photos, FrameChoice frame,
                       ScenePart part)
    : photo_share_(photos.photo_share), frame_(frame) {
  photos.check();
  if (photo_share_ > 0) photos_.emplace(photos, part, frame);
  if (photo_share_ == 1) return;
  rendered_ = traced_views([source = std::make_shared<const SceneSource>(scenes, part)](uint64_t seed) {
    return source->scene(seed);
  });
}

std::vector<Camera> ViewSource::draw(uint64_t seed, const BatchShape& shape, const StopCheck& stop_check,
                                     float* pixels) const {
  // A run without photos draws what it drew before there were any.
  if (photo_share_ > 0 && Random(mix(seed, 3)).uniform() < photo_share_)
    return photos_->draw(mix(seed, 4), shape, stop_check, pixels);
  return in_frame_of_inputs(rendered_(seed, shape, stop_check, pixels), shape.inputs, frame_);
}

}  // namespace lact::data
