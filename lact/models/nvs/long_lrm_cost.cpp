#include "lact/models/nvs/long_lrm_cost.h"

#include "lact/models/common/recurrent_cost.h"

namespace lact::models {

namespace {

constexpr double kMerged = 4;  ///< tokens that become one

/// Layers [first, end) of one kind, which have one width.
BlockCost layers_cost(const NvsConfig& config, MixerKind kind, int64_t first, int64_t end,
                      const Surroundings& around) {
  const bool merged = config.merges_tokens() && first >= config.long_lrm.merge_at;
  const LongLrmLayer layer = long_lrm_layer(config, first);
  BlockCost block;
  block.mixer = kind;
  for (int64_t i = first; i < end; ++i) block.count += config.mixer.kind_of(i) == kind ? 1 : 0;
  if (kind == MixerKind::full) {
    const Surroundings here = {.everything = around.everything / (merged ? kMerged : 1)};
    const CostPart norm = norm_cost("norm", layer.width, layer.norm);
    block.parts = full_layer_cost(layer.width, layer.attention, here);
    block.parts.push_back(feed_forward_cost(layer.width, layer.feed_forward));
    block.parts.push_back(sum("norms", {norm, norm}));
  } else {
    block.parts = recurrent_cost(layer.width, config.long_lrm.mamba2);
    block.parts.push_back({"norm", layer.width});
    for (CostPart& part : block.parts) part.state = 0;  // nothing of it outlives the reading
  }
  if (merged)
    for (CostPart& part : block.parts) part.flops /= kMerged;
  return block;
}

}  // namespace

LongLrmLayer long_lrm_layer(const NvsConfig& config, int64_t index) {
  const bool merged = config.merges_tokens() && index >= config.long_lrm.merge_at;
  LongLrmLayer layer = {config.model_dim, config.attention, config.feed_forward, config.norm};
  layer.norm.bias = config.long_lrm.norm_bias;
  if (merged) {
    const int64_t times = config.long_lrm.merged_dim / config.model_dim;
    layer.width *= times;
    layer.attention.attention.num_heads *= times;
    layer.feed_forward.hidden_dim *= times;
  }
  return layer;
}

ModelCost long_lrm_cost(const NvsConfig& config, double inputs) {
  const int64_t first = config.model_dim, last = config.decoded_dim(), cut = config.long_lrm.merge_at;
  ModelCost all;
  all.model_dim = last;
  all.num_layers = config.num_layers;
  all.around = {.attended = inputs, .chunk = inputs, .everything = inputs};
  const std::vector<std::pair<int64_t, int64_t>> parts =
      config.merges_tokens() ? std::vector<std::pair<int64_t, int64_t>>{{0, cut}, {cut, config.num_layers}}
                             : std::vector<std::pair<int64_t, int64_t>>{{0, config.num_layers}};
  for (const auto& [begin, end] : parts)
    for (const MixerKind kind : config.mixer.kinds()) {
      BlockCost block = layers_cost(config, kind, begin, end, all.around);
      if (block.count > 0) all.blocks.push_back(std::move(block));
    }
  CostPart decoder = linear_cost("decoder", last, config.output_channels(), false);
  all.others = {linear_cost("input layer", config.input_channels(), first, false),
                norm_cost("input norm", first, config.norm),
                {"global tokens", config.long_lrm.global_tokens * first}};
  if (config.merges_tokens()) {
    decoder.flops /= kMerged;
    all.others.push_back({"token merging", 5 * last, 0, 2 * double(last)});
    if (config.long_lrm.global_tokens > 0) {
      CostPart resize = linear_cost("global token widening", first, last, true);
      resize.flops = 0;  // of no view's token
      all.others.push_back(resize);
    }
  }
  all.others.push_back(norm_cost("decoder norm", last, config.norm));
  all.others.push_back(decoder);
  return all;
}

}  // namespace lact::models
