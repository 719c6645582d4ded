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

SceneBatch render_unless_stopped(const StopCheck& stop_check, const SceneMaker& make_scene,
                                 const BatchShape& shape, uint64_t seed, int64_t number) {
  SceneBatch batch;
  batch.number = number;
  batch.images = at::empty({shape.scenes, shape.views, 3, shape.height, shape.width}, at::kFloat);
  float* pixels = batch.images.data_ptr<float>();
  std::vector<Camera> cameras;
  for (int64_t i = 0; i < shape.scenes; ++i) {
    const uint64_t scene_seed = mix(mix(seed, static_cast<uint64_t>(number)), static_cast<uint64_t>(i));
    const tracer::Scene scene = make_scene(scene_seed);
    auto scene_cameras = tracer::random_cameras(mix(scene_seed, 1), shape.views, shape.height, shape.width);
    tracer::bring_near(scene_cameras, shape.inputs, shape.near, mix(scene_seed, 2));
    for (const Camera& camera : scene_cameras) {
      stop_check();
      tracer::render_into(pixels, scene, camera);
      pixels += 3 * shape.height * shape.width;
      cameras.push_back(camera);
    }
  }
  batch.intrinsics = intrinsics_of(cameras).reshape({shape.scenes, shape.views, 4});
  batch.camera_to_world = camera_to_world_of(cameras).reshape({shape.scenes, shape.views, 4, 4});
  return batch;
}

}  // namespace

SceneBatch render_batch(const SceneMaker& make_scene, const BatchShape& shape, uint64_t seed,
                        int64_t number) {
  check_batch_shape(shape);
  return render_unless_stopped([] {}, make_scene, shape, seed, number);
}

SceneStream::SceneStream(SceneMaker make_scene, const BatchShape& shape, uint64_t seed,
                         const StreamOptions& options)
    : Stream(
          [make_scene = std::move(make_scene), shape, seed](int64_t number, const StopCheck& stop_check) {
            return render_unless_stopped(stop_check, make_scene, shape, seed, number);
          },
          (check_batch_shape(shape), options), "rendering") {}

}  // namespace lact::data
