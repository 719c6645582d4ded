#include "lact/tasks/nvs/evaluation/view_scores.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "lact/base/error.h"
#include "lact/data/views/preprocess.h"
#include "lact/io/picture_sheet.h"

namespace lact::tasks::nvs {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

at::Tensor target_pictures(const data::TestViews& scene) {
  std::vector<at::Tensor> pictures;
  for (const int64_t target : scene.targets) pictures.push_back(scene.views.images[size_t(target)]);
  return at::stack(pictures);
}

/// Some of the targets, spread evenly.
std::vector<int64_t> targets_on_sheet(int64_t targets) {
  const int64_t shown = std::min(targets, kSheetTargets);
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < shown; ++i) chosen.push_back(i * targets / shown);
  return chosen;
}

/// `guessed[model][count]`: pictures [T, 3, H, W].
at::Tensor comparison_sheet(const at::Tensor& truth, const std::vector<std::vector<at::Tensor>>& guessed) {
  std::vector<std::vector<at::Tensor>> rows;
  for (const int64_t target : targets_on_sheet(truth.size(0))) {
    for (const auto& of_model : guessed) {
      rows.push_back({truth[target]});
      for (const at::Tensor& pictures : of_model) rows.back().push_back(pictures[target]);
    }
  }
  return io::picture_sheet(rows);
}

/// What is built on first use (thread pools, packed weights) must not count as time of the first scene.
void run_once(const std::vector<NamedNvs>& models, const data::TestViews& scene) {
  data::TestViews one_target = scene;
  one_target.targets.resize(1);
  for (const auto& model : models) guess_views(model, one_target, scene.inputs.begin()->first);
}

void check_sizes(const std::vector<NamedNvs>& models, const data::TestViews& scene) {
  const at::Tensor& image = scene.views.images.front();
  for (const auto& model : models)
    data::check_patches(image.size(1), image.size(2), model.model->config().decoded_patch());
}

int64_t views_of(const data::TestCase& scene) {
  return std::accumulate(scene.counts.begin(), scene.counts.end(), int64_t(0)) +
         int64_t(scene.counts.size()) * scene.targets;
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
  auto start = std::chrono::steady_clock::now();
  const auto state =
      model.model->reconstruct(images, data::intrinsics_of(cameras), data::camera_to_world_of(cameras));
  result.reconstruct_seconds = seconds_since(start);

  std::vector<at::Tensor> pictures;
  start = std::chrono::steady_clock::now();
  for (const int64_t target : scene.targets) {
    const data::Camera camera = data::to_scene(frame, scene.views.cameras[size_t(target)]);
    pictures.push_back(model.model->render(*state, data::intrinsics_of({camera})[0],
                                           data::camera_to_world_of({camera})[0], camera.height,
                                           camera.width));
  }
  result.render_seconds = seconds_since(start) / double(scene.targets.size());
  result.pictures = at::stack(pictures);
  return result;
}

std::vector<ViewScore> view_scores(const std::vector<NamedNvs>& models,
                                   const std::vector<data::TestCase>& cases,
                                   const ViewScoresOptions& options) {
  int64_t done = 0, total = 0;
  for (const auto& one : cases) total += int64_t(models.size()) * views_of(one);
  LACT_CHECK(!models.empty(), "[view scores] no model is given, expected at least one");
  LACT_CHECK(total > 0, "[view scores] no scene has as many views as are to be read");
  bool warm = false;
  std::vector<ViewScore> scores;
  for (const auto& one : cases) {
    if (one.counts.empty()) continue;
    if (options.on_progress) options.on_progress(done, total, one.name);
    const data::TestViews scene = one.load();
    check_sizes(models, scene);
    if (!std::exchange(warm, true)) run_once(models, scene);
    const at::Tensor truth = target_pictures(scene);
    std::vector<std::vector<at::Tensor>> guessed;
    for (const auto& model : models) {
      guessed.emplace_back();
      for (const int64_t count : one.counts) {
        const GuessedViews views = guess_views(model, scene, count);
        scores.push_back({model.name, one.group, one.name, count,
                          score_images(views.pictures, truth, options.lpips), views.reconstruct_seconds,
                          views.render_seconds});
        guessed.back().push_back(views.pictures);
        done += count + one.targets;
        if (options.on_progress) options.on_progress(done, total, one.name);
      }
    }
    if (options.on_sheet) options.on_sheet(one, comparison_sheet(truth, guessed));
  }
  return scores;
}

}  // namespace lact::tasks::nvs
