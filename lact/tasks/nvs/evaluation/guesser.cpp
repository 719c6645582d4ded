#include "lact/tasks/nvs/evaluation/guesser.h"

#include <ATen/ATen.h>

#include <chrono>

#include "lact/base/error.h"
#include "lact/tasks/nvs/gaussian_scene.h"

namespace lact::tasks::nvs {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Draws the targets, whose cameras are in the coordinates of the world, one after the other.
void draw_targets(const data::TestViews& scene, const std::function<at::Tensor(const data::Camera&)>& draw,
                  GuessedViews& result) {
  std::vector<at::Tensor> pictures;
  const auto start = std::chrono::steady_clock::now();
  for (const int64_t target : scene.targets) pictures.push_back(draw(scene.views.cameras[size_t(target)]));
  result.render_seconds = seconds_since(start) / double(scene.targets.size());
  result.pictures = at::stack(pictures);
}

}  // namespace

GuessedViews guess_views(const NamedNvs& model, const data::TestViews& scene, int64_t inputs) {
  const auto found = scene.inputs.find(inputs);
  LACT_CHECK(found != scene.inputs.end(), "[view scores] the scene has no choice of {} input views", inputs);
  std::vector<data::Camera> cameras;
  std::vector<at::Tensor> images;
  for (const int64_t view : found->second) {
    cameras.push_back(scene.views.cameras[size_t(view)]);
    images.push_back(scene.views.images[size_t(view)]);
  }
  const data::SceneFrame frame =
      model.frame == data::FrameChoice::object ? scene.object : data::scene_frame(cameras, model.frame);
  cameras = data::to_scene(frame, cameras);
  GuessedViews result;
  const auto start = std::chrono::steady_clock::now();
  const auto state =
      model.model->reconstruct(images, data::intrinsics_of(cameras), data::camera_to_world_of(cameras));
  result.reconstruct_seconds = seconds_since(start);

  draw_targets(
      scene,
      [&](const data::Camera& in_world) {
        const data::Camera camera = data::to_scene(frame, in_world);
        return model.model->render(*state, data::intrinsics_of({camera})[0],
                                   data::camera_to_world_of({camera})[0], camera.height, camera.width);
      },
      result);
  return result;
}

Guesser guesser_of(const NamedNvs& model) {
  return {
      model.name, model.model->config().decoded_patch(), true,
      [model](const data::TestViews& scene, int64_t inputs) { return guess_views(model, scene, inputs); }};
}

Guesser guesser_of_gaussians(const std::string& name, const std::string& file) {
  const auto guess = [file](const data::TestViews& scene, int64_t) {
    GuessedViews result;
    const auto start = std::chrono::steady_clock::now();
    const GaussianScene gaussians = GaussianScene::open(file);
    result.reconstruct_seconds = seconds_since(start);
    draw_targets(
        scene, [&](const data::Camera& camera) { return gaussians.picture(camera); }, result);
    return result;
  };
  return {name, 1, false, guess};
}

}  // namespace lact::tasks::nvs
