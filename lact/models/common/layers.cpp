#include "lact/models/common/layers.h"

namespace lact::models {

std::shared_ptr<HybridMixer> make_layer(int64_t model_dim, const HybridLayerConfig& config) {
  std::shared_ptr<Core> memory;
  if (config.memory_kind == MemoryKind::lact) memory = std::make_shared<ttt::Lact>(model_dim, config.memory);
  return std::make_shared<HybridMixer>(model_dim, config.projection, config.attention, std::move(memory),
                                       config.rescaled);
}

std::shared_ptr<SingleMixer> make_layer(int64_t model_dim, const LactLayerConfig& config) {
  return std::make_shared<SingleMixer>(model_dim, config.projection,
                                       std::make_shared<ttt::Lact>(model_dim, config.memory));
}

std::shared_ptr<SingleMixer> make_layer(int64_t model_dim, const AttentionLayerConfig& config) {
  return std::make_shared<SingleMixer>(
      model_dim, config.projection,
      std::make_shared<attention::WindowAttention>(model_dim, config.attention));
}

std::shared_ptr<SingleMixer> make_full_layer(int64_t model_dim, const AttentionLayerConfig& config) {
  return std::make_shared<SingleMixer>(
      model_dim, config.projection, std::make_shared<attention::FullAttention>(model_dim, config.attention));
}

}  // namespace lact::models
