// Numbered batches of views, made ahead of their use by background threads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "lact/data/stream.h"
#include "lact/data/views/camera.h"
#include "lact/data/views/tracer/scene.h"

namespace lact::data {

struct BatchShape {
  int64_t scenes = 4;
  int64_t views = 8;  ///< of each scene
  int64_t height = 64;
  int64_t width = 64;
  int64_t inputs = 0;  ///< the first views, which are read; rendered ones may stand near these
  double near = 0;     ///< share of the other rendered views that stand within kNearDegrees of one of these
};

struct SceneBatch {
  int64_t number = 0;
  int64_t inputs = 0;          ///< the first views, as in the shape
  at::Tensor images;           ///< float32 [B, V, 3, H, W] in [0, 1]
  at::Tensor intrinsics;       ///< float32 [B, V, 4]: fx, fy, cx, cy in pixels
  at::Tensor camera_to_world;  ///< float32 [B, V, 4, 4]
};

/// A scene for a seed; called from several threads at once.
using SceneMaker = std::function<tracer::Scene(uint64_t seed)>;

/// Views of the scene of a seed: writes pictures [V, 3, H, W] of the shape's size to `pixels` and gives their
/// cameras. The seed and the shape decide everything; called from several threads at once.
using DrawViews = std::function<std::vector<Camera>(uint64_t seed, const BatchShape& shape,
                                                    const StopCheck& stop_check, float* pixels)>;

/// Random cameras around scenes that are rendered.
DrawViews traced_views(SceneMaker make_scene);

/// The batch of this number, here and now. The seed and the number decide everything in it.
SceneBatch draw_batch(const DrawViews& draw, const BatchShape& shape, uint64_t seed, int64_t number);

/// Batches may differ in their numbers of views.
using ShapeOfBatch = std::function<BatchShape(int64_t number)>;

class SceneStream : public Stream<SceneBatch> {
 public:
  SceneStream(DrawViews draw, ShapeOfBatch shape_of, uint64_t seed, const StreamOptions& options = {});
  SceneStream(DrawViews draw, const BatchShape& shape, uint64_t seed, const StreamOptions& options = {});
};

}  // namespace lact::data
