#include "lact/models/nvs/config.h"

#include <cmath>
#include <limits>

#include "lact/base/error.h"
#include "lact/models/common/config_checks.h"

namespace lact::models {

AttentionLayerConfig nvs_attention(int64_t num_heads) {
  AttentionLayerConfig layer;
  layer.attention.num_heads = num_heads;
  layer.attention.head_norm = true;
  layer.attention.head_norm_epsilon = std::numeric_limits<float>::epsilon();
  return layer;
}

LactLayerConfig nvs_memory(double hidden_multiple) {
  LactLayerConfig layer;
  auto& memory = layer.memory;
  memory.num_heads = 1;
  memory.hidden_multiple = hidden_multiple;
  memory.prepare_qk = {ttt::Preparation::silu, ttt::Preparation::l2_norm};
  memory.silu_v = true;
  memory.base_rate = 0.01;
  memory.rate_bias = true;
  memory.rate_order = ttt::RateOrder::by_matrix;
  memory.initial_weights.gain = std::sqrt(2.0);
  memory.update.muon = true;
  memory.update.newton_schulz = {.steps = 5, .coefficients = ops::Coefficients::fixed};
  memory.update.detach_norm = true;
  return layer;
}

namespace {

/// What carries information between views.
std::vector<CostPart> between_views(const NvsConfig& config, MixerKind kind, const Surroundings& around) {
  if (kind == MixerKind::full) return full_layer_cost(config.model_dim, config.attention, around);
  return layer_cost(config.model_dim, config.lact, around);
}

void check_no_convolution(const char* path, const ProjectionConfig& projection) {
  LACT_CHECK(projection.conv_width == 0,
             "[config] {}.conv_width is {}, expected 0: patches of views have no order", path,
             projection.conv_width);
}

}  // namespace

void NvsConfig::check() const {
  check_size("patch_size", patch_size, kLargestPatch);
  check_size("model_dim", model_dim);
  check_size("num_layers", num_layers, kMostLayers);
  check_mixer("a view-synthesis model", mixer, num_layers, {MixerKind::lact, MixerKind::full});
  check_layer("attention", model_dim, attention);
  check_no_convolution("attention.projection", attention.projection);
  check_layer("lact", model_dim, lact);
  check_no_convolution("lact.projection", lact.projection);
  check_feed_forward("feed_forward", feed_forward);
  check_norm("norm", norm);
}

ModelCost cost(const NvsConfig& config, const ViewSet& views) {
  LACT_CHECK(views.inputs > 0, "[nvs] there are {} input views, expected at least 1", views.inputs);
  LACT_CHECK(views.image_size > 0 && views.image_size % config.patch_size == 0,
             "[nvs] an image of {} pixels does not divide into patches of {}", views.image_size,
             config.patch_size);
  const int64_t width = config.model_dim;
  const auto side = double(views.image_size / config.patch_size);
  ModelCost all;
  all.model_dim = width;
  all.num_layers = config.num_layers;
  const double inputs = side * side * double(views.inputs);
  all.around = {.attended = side * side, .chunk = inputs, .everything = inputs};
  const CostPart norm = norm_cost("norm", width, config.norm);
  all.blocks = block_costs(config.mixer, config.num_layers, [&](MixerKind kind) {
    BlockCost block;
    block.parts = layer_cost(width, config.attention, all.around);
    for (auto& part : between_views(config, kind, all.around)) block.parts.push_back(std::move(part));
    block.parts.push_back(feed_forward_cost(width, config.feed_forward));
    block.parts.push_back(sum("norms", {norm, norm, norm}));
    if (kind == MixerKind::lact) block.memory = fast_weight_cost(width, config.lact.memory);
    if (kind == MixerKind::full) block.kept_tokens = inputs;
    return block;
  });
  all.others = {linear_cost("input layer", config.input_channels(), width, false),
                norm_cost("input norm", width, config.norm), norm_cost("decoder norm", width, config.norm),
                linear_cost("decoder", width, config.output_channels(), false)};
  return all;
}

}  // namespace lact::models
