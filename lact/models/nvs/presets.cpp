#include "lact/models/nvs/presets.h"

namespace lact::models {

NvsConfig nvs_small() {
  NvsConfig config;
  config.model_dim = 256;
  config.num_layers = 6;
  config.attention = nvs_attention(4);
  config.feed_forward.hidden_dim = 1024;
  return config;
}

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

}  // namespace lact::models
