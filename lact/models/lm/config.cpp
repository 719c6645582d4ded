#include "lact/models/lm/config.h"

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/models/common/config_checks.h"

namespace lact::models {

HybridLayerConfig lm_layer(int64_t attention_heads, int64_t memory_heads) {
  const ops::RopeOptions rope = {.base = 1e6, .pairs = ops::RopePairs::halves};
  HybridLayerConfig layer;
  layer.attention.num_heads = attention_heads;
  layer.attention.rope = rope;
  layer.rescaled = Rescaled::memory;
  layer.gla.num_heads = memory_heads;
  layer.deltanet.num_heads = layer.mamba2.num_heads = attention_heads;
  layer.ttt = ttt::original_ttt(attention_heads);
  layer.ttt.rope = rope;
  layer.ttt.output_scale = OutputScale::per_head;

  auto& memory = layer.memory;
  memory.num_heads = memory_heads;
  memory.prepare_qk = {ttt::Preparation::silu, ttt::Preparation::l2_norm, ttt::Preparation::rope};
  memory.silu_v = true;
  memory.rope = rope;
  memory.rope_heads = attention_heads;
  memory.base_rate = 0.001;
  memory.rate_bias = true;
  memory.output_scale = ttt::OutputScale::per_head;
  memory.initial_weights = {.rank = 32, .gain = 0.5};
  memory.update.momentum = true;
  memory.update.muon = true;
  memory.update.newton_schulz = {.steps = 5, .coefficients = ops::Coefficients::variable};
  return layer;
}

int64_t lm_hidden_dim(int64_t model_dim) {
  const int64_t two_thirds = model_dim * 4 * 2 / 3;
  return (two_thirds + 255) / 256 * 256;
}

void LmConfig::check() const {
  check_size("vocabulary_size", vocabulary_size);
  check_size("model_dim", model_dim);
  check_size("num_layers", num_layers, kMostLayers);
  check_mixer("a language model", mixer, num_layers,
              {MixerKind::lact, MixerKind::full, MixerKind::window, MixerKind::gla, MixerKind::deltanet,
               MixerKind::mamba2, MixerKind::ttt});
  check_layer("layer", model_dim, mixer, layer);
  check_feed_forward("feed_forward", feed_forward);
  check_norm("norm", norm);
  check_size("chunk_size", chunk_size, kMostTokens);
  check_size("window_size", window_size, kMostTokens);
  check_positive("init_std", init_std);
  check_not_negative("embedding_std", embedding_std);
}

int64_t LmConfig::unseen_tokens() const {
  return mixer.has(MixerKind::lact) || mixer.has(MixerKind::ttt)
             ? std::max<int64_t>(0, chunk_size - window_size)
             : 0;
}

int64_t LmConfig::forgettable_tokens() const {
  const auto apart = [](MixerKind kind) {
    return kind != MixerKind::gla && kind != MixerKind::deltanet && kind != MixerKind::mamba2;
  };
  const auto kinds = mixer.kinds();
  if (!std::all_of(kinds.begin(), kinds.end(), apart)) return 0;
  return layer.projection.conv_width == 0 ? chunk_size : std::min(chunk_size, ConvolutionTail::kMore);
}

void warn_of_unseen_tokens(const LmConfig& config, const std::string& place) {
  if (config.unseen_tokens() == 0) return;
  log::warn(
      "{}: window_size {} is smaller than chunk_size {}: up to {} tokens that have left the window are not "
      "yet in the "
      "memory and are seen by nobody",
      place, config.window_size, config.chunk_size, config.unseen_tokens());
}

ModelCost cost(const LmConfig& config, const TextLength& text) {
  LACT_CHECK(text.tokens > 0, "[lm] a text of {} tokens, expected at least 1", text.tokens);
  const int64_t width = config.model_dim;
  const CostPart norm = norm_cost("norm", width, config.norm);
  ModelCost all;
  all.model_dim = width;
  all.num_layers = config.num_layers;
  all.around = {.attended = double(config.window_size),
                .chunk = double(config.chunk_size),
                .everything = double(text.tokens)};
  all.blocks = block_costs(config.mixer, config.num_layers, [&](MixerKind kind) {
    BlockCost block;
    block.parts = layer_cost(width, kind, config.layer, all.around);
    block.parts.push_back(feed_forward_cost(width, config.feed_forward));
    block.parts.push_back(sum("norms", {norm, norm}));
    block.memory = fast_weight_cost(width, kind, config.layer);
    block.kept_tokens = kind == MixerKind::full ? all.around.everything : all.around.attended;
    return block;
  });

  CostPart head = linear_cost("output head", width, config.vocabulary_size, false);
  if (config.tie_embeddings) head.parameters = 0;
  all.others = {
      {"embeddings", config.vocabulary_size * width}, norm_cost("final norm", width, config.norm), head};
  return all;
}

}  // namespace lact::models
