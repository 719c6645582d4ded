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

void NvsConfig::check() const {
  check_size("patch_size", patch_size, kLargestPatch);
  check_size("model_dim", model_dim);
  check_size("num_layers", num_layers, kMostLayers);
  check_layer("attention", model_dim, attention);
  check_layer("lact", model_dim, lact);
  check_size("perceiver.registers", perceiver.registers);
  LACT_CHECK(mixer != NvsMixer::perceiver || num_layers > 1,
             "[config] num_layers is {}, but a perceiver needs a block that reads and one that looks",
             num_layers);
  check_feed_forward("feed_forward", feed_forward);
  check_norm("norm", norm);
}

namespace {

void add_others(const NvsConfig& config, ModelCost& all) {
  const int64_t width = config.model_dim;
  all.others = {linear_cost("input layer", config.input_channels(), width, false),
                norm_cost("input norm", width, config.norm), norm_cost("decoder norm", width, config.norm),
                linear_cost("decoder", width, config.output_channels(), false)};
}

/// Every block has attention inside images, attention between tokens and registers, a feed-forward and four
/// norms; the blocks that read also a feed-forward of the registers and its norm. An input token goes through
/// these alone: the work of a block is that of the mean block. The registers' own work is shared by all
/// tokens.
void add_perceiver_cost(const NvsConfig& config, ModelCost& all) {
  const int64_t width = config.model_dim, count = config.perceiver.registers;
  const double reading = double(config.writing_layers()), per_token = double(count) / all.around.chunk;
  const double registers = double(count), square = double(width) * double(width);
  CostPart projections = projection_cost("register projections", width, config.attention.projection);
  projections.flops = 4 * square;  // k and v
  CostPart attention = layer_cost(width, config.attention, {.attended = registers}).back();
  attention.name = "register attention";
  const CostPart norm = norm_cost("norm", width, config.norm);
  const CostPart feed_forward = feed_forward_cost(width, config.feed_forward);
  for (const auto& part : {projections, attention, feed_forward}) all.block.push_back(part);
  all.block.push_back(sum("norms", {norm, norm, norm, norm}));
  for (auto& part : all.block) part.flops *= reading / double(config.num_layers);

  add_others(config, all);
  CostPart own = sum("feed-forward of registers", {feed_forward, norm});
  own.parameters *= config.writing_layers();
  // q, k, v and output, attention to each other, feed-forward
  own.flops = reading * per_token * (8 * square + 4 * registers * double(width) + feed_forward.flops);
  all.others.push_back({"registers", count * width, count * width});
  all.others.push_back(own);
}

}  // namespace

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
  all.around = {.attended = side * side, .chunk = side * side * double(views.inputs)};
  all.block = layer_cost(width, config.attention, all.around);
  std::vector<CostPart> between;
  if (config.mixer == NvsMixer::perceiver) {
    add_perceiver_cost(config, all);
    return all;
  }
  if (config.mixer == NvsMixer::lact) {
    all.memory = fast_weight_cost(width, config.lact.memory);
    between = layer_cost(width, config.lact, all.around);
  } else {
    between = layer_cost(width, config.attention, {.attended = all.around.chunk});
    between.front().name = "full attention projections";
    between.back().name = "full attention";
  }
  for (auto& part : between) all.block.push_back(std::move(part));
  all.block.push_back(feed_forward_cost(width, config.feed_forward));
  const CostPart norm = norm_cost("norm", width, config.norm);
  all.block.push_back(sum("norms", {norm, norm, norm}));
  add_others(config, all);
  return all;
}

}  // namespace lact::models
