// Video models that run in milliseconds.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "lact/models/video/model.h"

namespace lact::testing {

/// Chunks of 2 latent frames of 4 x 6, two of which make a token's side.
inline models::VideoConfig tiny_video(models::VideoMixer mixer = models::VideoMixer::lact) {
  models::VideoConfig config;
  config.model_dim = 32;
  config.num_layers = 2;
  config.mixer = mixer;
  config.layer = models::video_layer(2, 1);
  config.cross_attention.num_heads = 2;
  config.feed_forward.hidden_dim = 48;
  config.text_dim = 8;
  config.text_length = 6;
  config.frequency_dim = 16;
  config.in_channels = config.out_channels = 3;
  config.chunk_frames = 2;
  config.latent_height = 4;
  config.latent_width = 6;
  return config;
}

/// A fresh model says nothing and does not remember: its head and the scale of the memory are zero.
inline std::shared_ptr<models::VideoModel> make_video(const models::VideoConfig& config, uint64_t seed = 3) {
  at::manual_seed(seed);
  auto model = std::make_shared<models::VideoModel>(config);
  at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters())
    if ((item.value() == 0).all().item<bool>()) item.value().normal_(0, 0.2);
  return model;
}

}  // namespace lact::testing
