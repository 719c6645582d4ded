#include "lact/models/common/mamba2_names.h"
#include "lact/models/nvs/long_lrm.h"
#include "lact/models/nvs/long_lrm_cost.h"

namespace lact::models {

namespace {

ForeignNames transformer_names(const LongLrmLayer& layer) {
  ForeignNames names;
  const auto norm = [&](const char* theirs, const char* ours) {
    names.same(std::string(theirs) + ".weight", std::string(ours) + ".weight");
    if (layer.norm.bias) names.same(std::string(theirs) + ".bias", std::string(ours) + ".bias");
  };
  const ProjectionConfig& projection = layer.attention.projection;
  norm("norm1", "mixer0_norm");
  names.linear("attn.qkv", "mixer0.projection.qkv", projection.qkv_bias);
  names.linear("attn.proj", "mixer0.projection.output", projection.output_bias);
  norm("norm2", "feed_forward_norm");
  names.linear("mlp.fc1", "feed_forward.up", layer.feed_forward.bias);
  names.linear("mlp.fc2", "feed_forward.down", layer.feed_forward.bias);
  return names;
}

}  // namespace

ForeignNames long_lrm_names(const NvsConfig& config) {
  const LongLrmConfig& own = config.long_lrm;
  ForeignNames names;
  if (own.global_tokens > 0)
    names.shaped("global_token_init", "global_tokens", {1, own.global_tokens, config.model_dim});
  names.linear("tokenizer", "input", false);
  names.same("input_layernorm.weight", "input_norm.weight");
  if (config.merges_tokens()) {
    names.same("processor.merge_blocks.0.weight", "merging.weight");
    names.same("processor.merge_blocks.0.bias", "merging.bias");
    if (own.global_tokens > 0) names.linear("processor.resize_blocks.0", "merging.widen", true);
  }
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const LongLrmLayer layer = long_lrm_layer(config, i);
    names.nest(fmt::format("processor.blocks.{}.", i), fmt::format("block{}.", i),
               config.mixer.kind_of(i) == MixerKind::full ? transformer_names(layer)
                                                          : long_lrm_mamba2_names(layer.width, own.mamba2));
  }
  names.same("tokenDecoder.0.weight", "decoder_norm.weight");
  names.linear("tokenDecoder.1", "decoder", false);
  return names;
}

}  // namespace lact::models
