#include "lact/models/lm/presets.h"

namespace lact::models {

namespace {

/// Four memory heads, and a window as long as a chunk: the least that leaves no token unseen.
LmConfig sized(int64_t model_dim, int64_t num_layers, int64_t attention_heads, int64_t chunk_size) {
  LmConfig config;
  config.model_dim = model_dim;
  config.num_layers = num_layers;
  config.layer = lm_layer(attention_heads, 4);
  config.feed_forward.hidden_dim = lm_hidden_dim(model_dim);
  config.chunk_size = config.window_size = chunk_size;
  return config;
}

LmConfig with_mixer(LmConfig config, MixerKind mixer) {
  config.mixer = mixer;
  return config;
}

LmConfig with_gla(LmConfig config, int64_t num_heads) {
  config.layer.gla.num_heads = num_heads;
  return with_mixer(std::move(config), MixerKind::gla);
}

LmConfig with_deltanet(LmConfig config, int64_t num_heads) {
  config.layer.deltanet.num_heads = num_heads;
  return with_mixer(std::move(config), MixerKind::deltanet);
}

}  // namespace

// Small enough to learn to remember within a minute. The convolution lets a name meet the word next to it,
// which windows of attention learn much more slowly.
LmConfig lm_recall() {
  LmConfig config;
  config.vocabulary_size = 512;
  config.model_dim = 64;
  config.num_layers = 1;
  config.layer = lm_layer(2, 1);
  config.layer.projection.conv_width = 4;
  config.layer.attention.rope->base = 100;
  auto& memory = config.layer.memory;
  memory.prepare_qk = {ttt::Preparation::silu, ttt::Preparation::l2_norm};
  memory.rope_heads = 0;
  memory.initial_weights = {};
  memory.base_rate = 0.01;
  memory.output_scale = ttt::OutputScale::none;
  config.feed_forward.hidden_dim = 128;
  config.chunk_size = config.window_size = 32;
  config.init_std = 0.08;
  config.embedding_std = 1;
  return config;
}

LmConfig lm_tiny() {
  LmConfig config = sized(384, 6, 6, 512);
  config.vocabulary_size = 256;
  return config;
}

LmConfig lm_small() { return sized(768, 12, 12, 2048); }

LmConfig lm_760m() { return sized(1536, 24, 24, 2048); }

LmConfig lm_3b_paper() { return sized(3072, 25, 24, 4096); }

LmConfig lm_3b_code() { return sized(3072, 24, 24, 2048); }

LmConfig lm_760m_full() { return with_mixer(lm_760m(), MixerKind::full); }

LmConfig lm_760m_window() { return with_mixer(lm_760m(), MixerKind::window); }

LmConfig lm_760m_gla() { return with_gla(lm_760m(), 4); }

LmConfig lm_760m_deltanet() { return with_deltanet(lm_760m(), 12); }

LmConfig lm_3b_full() { return with_mixer(lm_3b_paper(), MixerKind::full); }

LmConfig lm_3b_window() { return with_mixer(lm_3b_paper(), MixerKind::window); }

LmConfig lm_3b_gla() { return with_gla(lm_3b_paper(), 8); }

LmConfig lm_3b_deltanet() { return with_deltanet(lm_3b_paper(), 24); }

}  // namespace lact::models
