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

}  // namespace

LmConfig lm_tiny() {
  LmConfig config = sized(384, 6, 6, 512);
  config.vocabulary_size = 256;
  return config;
}

LmConfig lm_small() { return sized(768, 12, 12, 2048); }

// The paper gives the heads of the 3B model alone, 128 channels each; this one takes the same width.
LmConfig lm_760m() { return sized(1536, 24, 12, 2048); }

LmConfig lm_3b() { return sized(3072, 25, 24, 4096); }

}  // namespace lact::models
