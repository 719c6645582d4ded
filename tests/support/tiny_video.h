// Video models and latents that run in milliseconds.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>

#include "lact/base/options.h"
#include "lact/models/video/model.h"

namespace lact::testing {

inline constexpr models::MixerKind kVideoMixers[] = {
    models::MixerKind::lact,     models::MixerKind::window, models::MixerKind::full, models::MixerKind::gla,
    models::MixerKind::deltanet, models::MixerKind::mamba2, models::MixerKind::ttt};

inline models::VideoConfig tiny_video(models::MixerKind mixer = models::MixerKind::lact) {
  models::VideoConfig config;
  config.model_dim = 32;
  config.num_layers = 2;
  config.mixer = mixer;
  config.layer = models::video_layer(2, 1);
  config.cross_attention.num_heads = 2;
  config.feed_forward.hidden_dim = 48;
  config.text_dim = 6;
  config.text_length = 5;
  config.frequency_dim = 16;
  config.in_channels = config.out_channels = 3;
  config.chunk_frames = 2;
  config.latent_height = 4;
  config.latent_width = 6;
  return config;
}

/// A trained model's head and memory have effect, unlike a fresh one's.
inline void wake_video(models::VideoModel& model) {
  at::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    const std::string& name = item.key();
    if (name.starts_with("head.") || name.find(".memory.scale.") != std::string::npos)
      item.value().normal_(0, 0.3);
  }
}

inline std::shared_ptr<models::VideoModel> make_video(const models::VideoConfig& config, uint64_t seed = 3) {
  at::manual_seed(seed);
  auto model = std::make_shared<models::VideoModel>(config);
  wake_video(*model);
  return model;
}

inline std::shared_ptr<models::VideoModel> make_precise_video(const models::VideoConfig& config) {
  auto model = make_video(config);
  model->to(at::kDouble);
  model->set_compute_type(at::kDouble);
  return model;
}

/// An interleaved sequence: latents of all parts, their time steps (0 for clean ones) and a text.
struct TinyClip {
  at::Tensor latents, timesteps, text;
  int64_t repeats = 1;

  at::Tensor run(models::VideoModel& model) const { return model.forward(latents, timesteps, text, repeats); }
};

inline TinyClip tiny_clip(const models::VideoConfig& config, int64_t chunks, int64_t repeats, int64_t batch,
                          at::ScalarType type = at::kFloat) {
  const int64_t parts = chunks * (repeats + 1) - 1;
  TinyClip clip;
  clip.latents = at::randn(
      {batch, config.in_channels, parts * config.chunk_frames, config.latent_height, config.latent_width},
      type);
  clip.timesteps = at::rand({batch, parts}, type) * 1000;
  for (int64_t part = repeats; part < parts; part += repeats + 1) clip.timesteps.select(1, part).zero_();
  clip.text = at::randn({batch, config.text_length, config.text_dim}, type);
  clip.repeats = repeats;
  return clip;
}

/// The chunk-sized part at `index` of latents or velocities.
inline at::Tensor part_of(const at::Tensor& latents, const models::VideoConfig& config, int64_t index) {
  return latents.narrow(2, index * config.chunk_frames, config.chunk_frames);
}

}  // namespace lact::testing
