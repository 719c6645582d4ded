// Numbered batches of rendered views, made ahead of their use by background threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "lact/data/stream.h"
#include "lact/data/views/tracer/scene.h"

namespace lact::data {

struct BatchShape {
  int64_t scenes = 4;
  int64_t views = 8;  ///< of each scene
  int64_t height = 64;
  int64_t width = 64;
  int64_t inputs = 0;  ///< the first views, which the others may stand near
  double near = 0;     ///< share of the other views that stand within kNearDegrees of one of these
};

struct SceneBatch {
  int64_t number = 0;
  at::Tensor images;           ///< float32 [B, V, 3, H, W] in [0, 1]
  at::Tensor intrinsics;       ///< float32 [B, V, 4]: fx, fy, cx, cy in pixels
  at::Tensor camera_to_world;  ///< float32 [B, V, 4, 4]
};

/// A scene for a seed; called from several threads at once.
using SceneMaker = std::function<tracer::Scene(uint64_t seed)>;

/// Renders a batch here and now. The seed and the number decide everything in it.
SceneBatch render_batch(const SceneMaker& make_scene, const BatchShape& shape, uint64_t seed, int64_t number);

class SceneStream : public Stream<SceneBatch> {
 public:
  SceneStream(SceneMaker make_scene, const BatchShape& shape, uint64_t seed,
              const StreamOptions& options = {});
};

}  // namespace lact::data
