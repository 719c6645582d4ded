#include "lact/data/views/scene_stream.h"

#include <ATen/ATen.h>

#include <utility>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/views/camera.h"
#include "lact/data/views/tracer/random_camera.h"
#include "lact/data/views/tracer/render.h"

namespace lact::data {

namespace {

void check_batch_shape(const BatchShape& shape) {
  constexpr int64_t kMaxSide = 8192, kMaxViews = 1 << 20, kMaxValues = int64_t{1} << 32;
  const auto within = [](int64_t value, int64_t most) { return value >= 1 && value <= most; };
  LACT_CHECK(
      within(shape.scenes, kMaxViews) && within(shape.views, kMaxViews) && within(shape.height, kMaxSide) &&
          within(shape.width, kMaxSide) &&
          shape.scenes * shape.views <= kMaxValues / (3 * shape.height * shape.width),
      "a batch of {} scenes with {} views of {} x {} pixels cannot be rendered: all must be positive and the "
      "batch have at most {} values",
      shape.scenes, shape.views, shape.height, shape.width, kMaxValues);
}

SceneBatch draw_unless_stopped(const StopCheck& stop_check, const DrawViews& draw, const BatchShape& shape,
                               uint64_t seed, int64_t number) {
  check_batch_shape(shape);
  SceneBatch batch;
  batch.number = number;
  batch.inputs = shape.inputs;
  batch.images = at::empty({shape.scenes, shape.views, 3, shape.height, shape.width}, at::kFloat);
  float* pixels = batch.images.data_ptr<float>();
  std::vector<Camera> cameras;
  for (int64_t i = 0; i < shape.scenes; ++i) {
    const uint64_t scene_seed = mix(mix(seed, static_cast<uint64_t>(number)), static_cast<uint64_t>(i));
    const std::vector<Camera> own = draw(scene_seed, shape, stop_check, pixels);
    LACT_ASSERT(static_cast<int64_t>(own.size()) == shape.views);
    cameras.insert(cameras.end(), own.begin(), own.end());
    pixels += shape.views * 3 * shape.height * shape.width;
  }
  batch.intrinsics = intrinsics_of(cameras).reshape({shape.scenes, shape.views, 4});
  batch.camera_to_world = camera_to_world_of(cameras).reshape({shape.scenes, shape.views, 4, 4});
  return batch;
}

}  // namespace

DrawViews traced_views(SceneMaker make_scene) {
  return [make_scene = std::move(make_scene)](uint64_t seed, const BatchShape& shape,
                                              const StopCheck& stop_check, float* pixels) {
    const tracer::Scene scene = make_scene(seed);
    auto cameras = tracer::random_cameras(mix(seed, 1), shape.views, shape.height, shape.width);
    tracer::bring_near(cameras, shape.inputs, shape.near, mix(seed, 2));
    for (const Camera& camera : cameras) {
      stop_check();
      tracer::render_into(pixels, scene, camera);
      pixels += 3 * shape.height * shape.width;
    }
    return cameras;
  };
}

SceneBatch draw_batch(const DrawViews& draw, const BatchShape& shape, uint64_t seed, int64_t number) {
  return draw_unless_stopped([] {}, draw, shape, seed, number);
}

SceneStream::SceneStream(DrawViews draw, ShapeOfBatch shape_of, uint64_t seed, const StreamOptions& options)
    : Stream(
          [draw = std::move(draw), shape_of = std::move(shape_of), seed](int64_t number,
                                                                         const StopCheck& stop_check) {
            return draw_unless_stopped(stop_check, draw, shape_of(number), seed, number);
          },
          options, "drawing") {}

SceneStream::SceneStream(DrawViews draw, const BatchShape& shape, uint64_t seed, const StreamOptions& options)
    : SceneStream(
          std::move(draw), [shape](int64_t) { return shape; }, seed, (check_batch_shape(shape), options)) {}

}  // namespace lact::data
