#include "lact/models/nvs/presets.h"

namespace lact::models {

namespace {

NvsConfig six_blocks(int64_t model_dim, int64_t num_heads) {
  NvsConfig config;
  config.model_dim = model_dim;
  config.num_layers = 6;
  config.attention = nvs_attention(num_heads);
  config.feed_forward.hidden_dim = 4 * model_dim;
  config.deltanet.num_heads = model_dim / 64;
  return config;
}

}  // namespace

NvsConfig nvs_tiny() { return six_blocks(192, 6); }

NvsConfig nvs_small() { return six_blocks(256, 4); }

NvsConfig nvs_14_layers() {
  NvsConfig config;
  config.num_layers = 14;
  return config;
}

NvsConfig nvs_312m() { return {}; }

NvsConfig nvs_4x() {
  NvsConfig config;
  config.lact = nvs_memory(4);
  return config;
}

// Attention in place of LaCT leaves 227M. The paper has 284M and does not say where: here the feed-forward
// networks have the rest.
NvsConfig nvs_full() {
  NvsConfig config;
  config.mixer = MixerKind::full;
  config.feed_forward.hidden_dim = 6 * config.model_dim;
  return config;
}

NvsConfig nvs_perceiver() {
  NvsConfig config;
  config.mixer = MixerKind::perceiver;
  return config;
}

NvsConfig nvs_mamba2() {
  NvsConfig config;
  config.mixer = MixerKind::mamba2;
  return config;
}

}  // namespace lact::models
