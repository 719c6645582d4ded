// Autoencoders that run in milliseconds.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "lact/models/vae/model.h"

namespace lact::testing {

/// 4 x 4 pixels and 4 frames become a place of 3 channels.
inline models::VaeConfig tiny_vae() {
  models::VaeConfig config;
  config.base_channels = 4;
  config.latent_channels = 3;
  config.channel_multiples = {1, 2, 2};
  config.residual_blocks = 1;
  config.time_strides = {2, 2};
  config.latent_mean = {0.5, -1, 0};
  config.latent_std = {2, 0.5, 1};
  return config;
}

/// With attention and doubling of frames that do something, unlike in a fresh model; float64.
inline std::shared_ptr<models::Vae> make_precise_vae(const models::VaeConfig& config = tiny_vae()) {
  at::manual_seed(5);
  auto model = std::make_shared<models::Vae>(config);
  model->to(at::kDouble);
  at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters())
    if (item.key().ends_with("proj.weight") || item.key().find("time_conv") != std::string::npos)
      item.value().normal_(0, 0.3);
  return model;
}

/// [B, 3, frames, H, W] in [-1, 1], float64
inline at::Tensor tiny_clip(int64_t batch, int64_t frames, int64_t height, int64_t width) {
  return at::rand({batch, 3, frames, height, width}, at::kDouble) * 2 - 1;
}

}  // namespace lact::testing
