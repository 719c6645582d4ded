// A training run of a video model that takes a second: 16 x 16 pixels, 16 tokens per frame.
#pragma once

#include "lact/tasks/video/training/run.h"

namespace lact::testing {

inline models::VideoConfig toy_video_model() {
  models::VideoConfig config;
  config.model_dim = 24;
  config.num_layers = 1;
  config.layer = models::video_layer(2, 1);
  config.cross_attention.num_heads = 2;
  config.feed_forward.hidden_dim = 32;
  config.text_dim = 8;
  config.text_length = 12;
  config.frequency_dim = 16;
  config.in_channels = config.out_channels = 3;
  config.patch = {1, 4, 4};
  config.chunk_frames = 2;
  config.latent_height = config.latent_width = 16;
  return config;
}

inline models::WordEncoderConfig toy_words() {
  models::WordEncoderConfig words;
  words.text_dim = 8;
  words.text_length = 12;
  words.word_buckets = words.gram_buckets = 64;
  words.num_layers = 1;
  words.num_heads = 2;
  words.hidden_dim = 16;
  return words;
}

/// Two stages: 4 chunks, then 5 of larger pictures.
inline tasks::video::Run toy_video_run(int64_t steps = 4) {
  tasks::video::Run run;
  run.model = toy_video_model();
  run.precision = ops::Precision::f32;
  run.words = toy_words();
  run.stages = {{.steps = 2, .chunks = 4, .clips = 2},
                {.steps = 0, .chunks = 5, .height = 16, .width = 24, .clips = 1}};
  run.training.steps = steps;
  run.training.warmup = 1;
  run.training.validate_every = 2;
  run.training.save_every = 2;
  run.training.log_every = 1;
  run.valid_clips = 2;
  return run;
}

}  // namespace lact::testing
