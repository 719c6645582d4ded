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

// The last stage of its training keeps 0.4 of the Gaussians, the earlier ones all: gaussians.keep=1.
NvsConfig nvs_long_lrm() {
  NvsConfig config;
  config.model_dim = 256;
  config.mixer = MixerPattern::parse("7 mamba2_block : 1 full");
  config.attention = {};
  config.attention.projection.output_bias = true;
  config.attention.attention.num_heads = 4;
  config.feed_forward.hidden_dim = 4 * config.model_dim;
  config.head = NvsHead::gaussians;
  config.gaussians.sh_degree = 3;
  config.gaussians.max_dist = 500;
  config.gaussians.scale_bias = -6.9;
  config.gaussians.keep = 0.4;
  config.gaussians.keep_random = 0.1;
  return config;
}

NvsConfig nvs_long_lrm_tiny() {
  NvsConfig config = nvs_long_lrm();
  config.model_dim = 64;
  config.num_layers = 8;
  config.mixer = MixerPattern::parse("3 mamba2_block : 1 full");
  config.attention.attention.num_heads = 2;
  config.feed_forward.hidden_dim = 4 * config.model_dim;
  config.long_lrm.merge_at = 4;
  config.long_lrm.merged_dim = 128;
  config.long_lrm.mamba2.state_dim = 32;
  config.long_lrm.mamba2.head_dim = 32;
  config.gaussians = {};  // the tracer's scenes are a few units wide
  return config;
}

NvsConfig nvs_mamba2() {
  NvsConfig config;
  config.mixer = MixerKind::mamba2;
  return config;
}

}  // namespace lact::models
