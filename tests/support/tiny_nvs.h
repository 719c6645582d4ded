// View-synthesis models and scenes that run in milliseconds.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <memory>
#include <vector>

#include "lact/models/nvs/model.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/ops/images/rays.h"

namespace lact::testing {

inline constexpr models::MixerKind kNvsMixers[] = {models::MixerKind::lact,   models::MixerKind::full,
                                                   models::MixerKind::gla,    models::MixerKind::deltanet,
                                                   models::MixerKind::mamba2, models::MixerKind::perceiver};

inline models::NvsConfig tiny_nvs(models::MixerKind mixer = models::MixerKind::lact) {
  models::NvsConfig config;
  config.patch_size = 4;
  config.model_dim = 32;
  config.num_layers = 2;
  config.attention = models::nvs_attention(2);
  config.mixer = mixer;
  config.feed_forward.hidden_dim = 64;
  // The authors' files know nothing of the baselines: what is not in use stays as it is by itself.
  if (mixer == models::MixerKind::gla) config.gla.num_heads = 2;
  if (mixer == models::MixerKind::deltanet) config.deltanet.num_heads = 2;
  if (mixer == models::MixerKind::mamba2) config.mamba2.num_heads = 2, config.mamba2.head_dim = 12;
  if (mixer == models::MixerKind::perceiver) config.perceiver.registers = 5;
  return config;
}

inline std::shared_ptr<models::NvsModel> make_nvs(const models::NvsConfig& config, uint64_t seed = 3) {
  at::manual_seed(seed);
  auto model = std::make_shared<models::NvsModel>(config);
  // A fresh decoder says nearly the same of everything.
  at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters()) {
    if (item.key() == "decoder.weight") item.value().normal_(0, 0.3);
    if (item.key().ends_with(".output.weight")) item.value().normal_(0, 0.3);
  }
  return model;
}

inline std::shared_ptr<models::NvsModel> make_precise_nvs(const models::NvsConfig& config) {
  auto model = make_nvs(config);
  model->to(at::kDouble);
  model->set_compute_type(at::kDouble);
  return model;
}

/// Pictures [V, 3, H, W] of noise, seen by cameras around the origin.
struct TinyScene {
  at::Tensor images, intrinsics, camera_to_world;
  at::Tensor rays() const {
    return ops::plucker_rays(intrinsics, camera_to_world, images.size(2), images.size(3));
  }
  TinyScene part(const at::Tensor& which) const {
    return {images.index_select(0, which), intrinsics.index_select(0, which),
            camera_to_world.index_select(0, which)};
  }
  std::vector<at::Tensor> list() const { return images.unbind(0); }
};

inline TinyScene tiny_scene(int64_t views, int64_t height, int64_t width, at::ScalarType type = at::kFloat) {
  TinyScene scene;
  scene.images = at::rand({views, 3, height, width}, at::kDouble);
  scene.intrinsics =
      at::tensor({double(width), double(height), width / 2.0, height / 2.0}, at::kDouble).repeat({views, 1});
  scene.camera_to_world = at::eye(4, at::kDouble).repeat({views, 1, 1});
  for (int64_t i = 0; i < views; ++i) {
    const double angle = 0.7 * double(i);
    at::Tensor pose = scene.camera_to_world[i];
    pose[0][0] = std::cos(angle), pose[0][2] = -std::sin(angle);
    pose[2][0] = std::sin(angle), pose[2][2] = std::cos(angle);
    pose[0][3] = 2 * std::sin(angle), pose[1][3] = 0.1 * double(i), pose[2][3] = -2 * std::cos(angle);
  }
  return {scene.images.to(type), scene.intrinsics.to(type), scene.camera_to_world.to(type)};
}

/// Three such views of 8 x 12 pixels, read.
inline models::NvsScene scene_of_noise(models::ViewModel& model) {
  const auto views = tiny_scene(3, 8, 12);
  models::NvsScene scene;
  scene.state = model.reconstruct(views.list(), views.intrinsics, views.camera_to_world);
  scene.intrinsics = views.intrinsics;
  scene.camera_to_world = views.camera_to_world;
  scene.sizes.assign(3, {8, 12});
  return scene;
}

/// Training forward on one scene: the last `targets` views are rendered from the others.
inline at::Tensor forward_of(models::ViewModel& model, const TinyScene& scene, int64_t targets) {
  const int64_t inputs = scene.images.size(0) - targets;
  return model
      .predict({scene.images.narrow(0, 0, inputs).unsqueeze(0), scene.intrinsics.unsqueeze(0),
                scene.camera_to_world.unsqueeze(0)})
      .views[0];
}

}  // namespace lact::testing
