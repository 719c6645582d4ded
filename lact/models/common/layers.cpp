#include "lact/models/common/layers.h"

#include "lact/base/options.h"

namespace lact::models {

namespace {

std::shared_ptr<HybridMixer> make_hybrid(int64_t model_dim, MixerKind kind, const HybridLayerConfig& config) {
  return std::make_shared<HybridMixer>(model_dim, config.projection, config.attention,
                                       make_core(kind, model_dim, config), config.rescaled);
}

}  // namespace

std::shared_ptr<Core> make_core(MixerKind kind, int64_t model_dim, const HybridLayerConfig& config) {
  switch (kind) {
    case MixerKind::window:
      return nullptr;
    case MixerKind::lact:
      return std::make_shared<ttt::Lact>(model_dim, config.memory);
    case MixerKind::gla:
      return std::make_shared<recurrent::Gla>(model_dim, config.gla);
    case MixerKind::deltanet:
      return std::make_shared<recurrent::DeltaNet>(model_dim, config.deltanet);
    case MixerKind::mamba2:
      return std::make_shared<recurrent::Mamba2>(model_dim, config.mamba2);
    case MixerKind::ttt:
      return std::make_shared<ttt::Lact>(model_dim, config.ttt);
    default:
      fail("[mixer] {} is no memory beside a window", options::word_of(kind));
  }
}

std::shared_ptr<Mixer> make_layer(int64_t model_dim, MixerKind kind, const HybridLayerConfig& config) {
  if (kind == MixerKind::full) return make_full_layer(model_dim, {config.projection, config.attention});
  return make_hybrid(model_dim, kind, config);
}

std::shared_ptr<HybridMixer> make_layer(int64_t model_dim, const HybridLayerConfig& config) {
  return make_hybrid(model_dim, MixerKind::lact, config);
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
