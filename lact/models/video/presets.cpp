#include "lact/models/video/presets.h"

namespace lact::models {

namespace {

struct Size {
  int64_t model_dim, num_layers, num_heads, memory_heads, hidden_dim;
  double memory_multiple = 1;
};

VideoConfig sized(const Size& size) {
  VideoConfig config;
  config.model_dim = size.model_dim;
  config.num_layers = size.num_layers;
  config.layer = video_layer(size.num_heads, size.memory_heads, size.memory_multiple);
  config.cross_attention.num_heads = size.num_heads;
  config.feed_forward.hidden_dim = size.hidden_dim;
  return config;
}

VideoConfig with_mixer(MixerKind mixer, VideoConfig config) {
  config.mixer = mixer;
  return config;
}

}  // namespace

VideoConfig video_tiny() {
  VideoConfig config =
      sized({.model_dim = 96, .num_layers = 4, .num_heads = 2, .memory_heads = 1, .hidden_dim = 384});
  config.text_dim = 96;
  config.text_length = 48;
  config.frequency_dim = 64;
  config.in_channels = config.out_channels = 3;
  config.patch = {2, 4, 4};
  config.chunk_frames = 2;
  config.latent_height = config.latent_width = 32;
  // A chunk is 64 tokens instead of thousands, and the step is a sum over them.
  config.layer.memory.base_rate = 0.1;
  return config;
}

VideoConfig video_recall() {
  VideoConfig config = video_tiny();
  config.model_dim = config.text_dim = 64;
  config.num_layers = 2;
  config.feed_forward.hidden_dim = 256;
  config.text_length = 16;
  // More channels than the 48 numbers of a patch, so that noise and thoughts have room.
  config.patch = {1, 4, 4};
  config.chunk_frames = 1;
  config.latent_height = config.latent_width = 16;
  return config;
}

VideoConfig video_small() {
  VideoConfig config =
      sized({.model_dim = 512, .num_layers = 8, .num_heads = 8, .memory_heads = 1, .hidden_dim = 2048});
  config.latent_height = config.latent_width = 32;
  return config;
}

VideoConfig video_1_3b() {
  return sized({.model_dim = 1536,
                .num_layers = 30,
                .num_heads = 12,
                .memory_heads = 2,
                .hidden_dim = 8960,
                .memory_multiple = 2});
}

VideoConfig video_14b() {
  return sized(
      {.model_dim = 5120, .num_layers = 40, .num_heads = 40, .memory_heads = 4, .hidden_dim = 13824});
}

VideoConfig video_1_3b_full() { return with_mixer(MixerKind::full, video_1_3b()); }

VideoConfig video_1_3b_window() { return with_mixer(MixerKind::window, video_1_3b()); }

VideoConfig video_1_3b_mamba2() { return with_mixer(MixerKind::mamba2, video_1_3b()); }

}  // namespace lact::models
