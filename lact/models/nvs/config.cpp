#include "lact/models/nvs/config.h"

#include <cmath>
#include <limits>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/models/common/config_checks.h"
#include "lact/models/common/recurrent_cost.h"
#include "lact/models/nvs/long_lrm_cost.h"

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

recurrent::GlaConfig nvs_gla() {
  recurrent::GlaConfig config;
  config.both_ways = true;
  return config;
}

recurrent::DeltaNetConfig nvs_deltanet() {
  recurrent::DeltaNetConfig config;
  config.num_heads = 6;
  config.both_ways = true;
  return config;
}

namespace {

void check_no_convolution(const char* path, const ProjectionConfig& projection) {
  LACT_CHECK(projection.conv_width == 0,
             "[config] {}.conv_width is {}, expected 0: patches of views have no order", path,
             projection.conv_width);
}

template <class Config>
void check_recurrence(const std::string& path, const NvsConfig& config, const Config& part, MixerKind kind) {
  check_size(path + ".num_heads", part.num_heads);
  if (config.mixer.has(kind)) check_heads(path + ".num_heads", part.num_heads, config.model_dim);
  check_head_output(path + ".output", part.output);
}

void check_mamba2(const recurrent::Mamba2MixerConfig& config) {
  check_size("mamba2.num_heads", config.num_heads);
  check_size("mamba2.head_dim", config.head_dim);
  check_size("mamba2.num_heads times mamba2.head_dim", config.num_heads * config.head_dim);
  check_step_shift("mamba2", config.step_shift);
  check_head_output("mamba2.output", config.output);
}

void check_perceiver(const NvsConfig& config) {
  check_size("perceiver.registers", config.perceiver.registers);
  if (!config.mixer.has(MixerKind::perceiver)) return;
  LACT_CHECK(config.mixer == MixerKind::perceiver,
             "[config] mixer is {}, but a perceiver's registers go through all blocks", config.mixer.text());
  LACT_CHECK(config.num_layers > 1,
             "[config] num_layers is {}, but a perceiver needs a block that reads and one that looks",
             config.num_layers);
}

void check_gaussians(const NvsConfig& config) {
  const GaussiansConfig& part = config.gaussians;
  constexpr double kFarthest = 100;  // of a logarithm or a logit
  const auto between = [](const char* name, double value, double least, double most) {
    LACT_CHECK(value >= least && value <= most, "[config] gaussians.{} is {}, expected {} to {}", name, value,
               least, most);
  };
  between("sh_degree", double(part.sh_degree), 0, 3);
  check_positive("gaussians.max_dist", part.max_dist);
  between("scale_bias", part.scale_bias, -kFarthest, kFarthest);
  between("scale_max", part.scale_max, -kFarthest, kFarthest);
  between("opacity_bias", part.opacity_bias, -kFarthest, kFarthest);
  between("virtual_views", double(part.virtual_views), 0, 1 << 12);
  check_positive("gaussians.keep", part.keep);
  between("keep", part.keep, 0, 1);
  between("keep_random", part.keep_random, 0, 1);
  LACT_CHECK(!config.has_gaussians() || config.mixer != MixerKind::perceiver || part.virtual_views > 0,
             "[config] head is gaussians, but the input views' tokens do not reach a perceiver's end: set "
             "gaussians.virtual_views");
}

void check_ray_points(const NvsConfig& config) {
  constexpr int64_t kMostPoints = 256, kMostOctaves = 16;
  const RayPoints& part = config.ray_points;
  LACT_CHECK(part.count >= 0 && part.count <= kMostPoints,
             "[config] ray_points.count is {}, expected 0 to {}", part.count, kMostPoints);
  check_size("ray_points.octaves", part.octaves, kMostOctaves);
  check_positive("ray_points.reach", part.reach);
  LACT_CHECK(part.count == 0 || !config.is_long_lrm(),
             "[config] ray_points.count is {}, but Long-LRM is told rays alone: expected 0", part.count);
}

void check_long_lrm(const NvsConfig& config) {
  const LongLrmConfig& part = config.long_lrm;
  LACT_CHECK(part.global_tokens >= 0 && part.global_tokens <= kMostChannels,
             "[config] long_lrm.global_tokens is {}, expected 0 to {}", part.global_tokens, kMostChannels);
  LACT_CHECK(part.merge_at >= 0 && part.merge_at <= kMostLayers,
             "[config] long_lrm.merge_at is {}, expected 0 to {}", part.merge_at, kMostLayers);
  check_size("long_lrm.merged_dim", part.merged_dim);
  for (const auto& [name, value] :
       {std::pair("state_dim", part.mamba2.state_dim), {"head_dim", part.mamba2.head_dim}})
    check_size(std::string("long_lrm.mamba2.") + name, value);
  check_size("long_lrm.mamba2.expand", part.mamba2.expand, 64);
  check_size("long_lrm.mamba2.conv_width", part.mamba2.conv_width, 64);
  check_positive("long_lrm.mamba2.norm_epsilon", part.mamba2.norm_epsilon);
  if (!config.is_long_lrm()) return;
  for (const MixerKind kind : config.mixer.kinds())
    LACT_CHECK(kind == MixerKind::mamba2_block || kind == MixerKind::full,
               "[config] mixer is {}, but Long-LRM's layers are mamba2_block and full", config.mixer.text());
  LACT_CHECK(config.has_gaussians() && config.gaussians.virtual_views == 0,
             "[config] Long-LRM's tokens are those of the input views, and become Gaussians: head is {} with "
             "gaussians.virtual_views {}, expected gaussians and 0",
             options::word_of(config.head), config.gaussians.virtual_views);
  LACT_CHECK(part.mamba2.both_ways,
             "[config] long_lrm.mamba2.both_ways is false, but views are passed over in both directions");
  LACT_CHECK(part.merge_at < config.num_layers,
             "[config] long_lrm.merge_at is {}, expected less than the {} layers", part.merge_at,
             config.num_layers);
  const bool merges = config.merges_tokens();
  LACT_CHECK(!merges || part.merged_dim % config.model_dim == 0,
             "[config] long_lrm.merged_dim is {}, expected a multiple of model_dim {}", part.merged_dim,
             config.model_dim);
  for (const int64_t width : {config.model_dim, config.decoded_dim()})
    LACT_CHECK(part.mamba2.expand * width % part.mamba2.head_dim == 0,
               "[config] long_lrm.mamba2.head_dim is {}, which does not divide {} times the width {}",
               part.mamba2.head_dim, part.mamba2.expand, width);
}

/// A core between projections.
std::vector<CostPart> recurrence_cost(const NvsConfig& config, std::vector<CostPart> core) {
  core.insert(core.begin(),
              projection_cost("memory projections", config.model_dim, config.attention.projection));
  return core;
}

/// What carries information between views.
std::vector<CostPart> between_views(const NvsConfig& config, MixerKind kind, const Surroundings& around) {
  switch (kind) {
    case MixerKind::full:
      return full_layer_cost(config.model_dim, config.attention, around);
    case MixerKind::gla:
      return recurrence_cost(config, recurrent_cost(config.model_dim, config.gla));
    case MixerKind::deltanet:
      return recurrence_cost(config, recurrent_cost(config.model_dim, config.deltanet));
    case MixerKind::mamba2:
      return recurrent_cost(config.model_dim, config.mamba2);
    default:
      return layer_cost(config.model_dim, config.lact, around);
  }
}

BlockCost block_cost(const NvsConfig& config, MixerKind kind, const Surroundings& around) {
  const int64_t width = config.model_dim;
  const CostPart norm = norm_cost("norm", width, config.norm);
  BlockCost block;
  block.parts = layer_cost(width, config.attention, around);
  for (auto& part : between_views(config, kind, around)) block.parts.push_back(std::move(part));
  block.parts.push_back(feed_forward_cost(width, config.feed_forward));
  block.parts.push_back(sum("norms", {norm, norm, norm}));
  if (kind == MixerKind::lact) block.memory = fast_weight_cost(width, config.lact.memory);
  if (kind == MixerKind::full) block.kept_tokens = around.everything;
  return block;
}

/// Every block has attention inside images, attention between tokens and registers, a feed-forward and four
/// norms; the blocks that read also a feed-forward of the registers and its norm. An input token goes through
/// these alone: the work of a block is that of the mean block. The registers' own work is shared by all
/// tokens.
BlockCost perceiver_block_cost(const NvsConfig& config, const Surroundings& around) {
  const int64_t width = config.model_dim;
  const CostPart norm = norm_cost("norm", width, config.norm);
  CostPart projections = projection_cost("register projections", width, config.attention.projection);
  projections.flops = 4 * double(width) * double(width);  // k and v
  CostPart attention =
      layer_cost(width, config.attention, {.attended = double(config.perceiver.registers)}).back();
  attention.name = "register attention";
  BlockCost block;
  block.parts = layer_cost(width, config.attention, around);
  for (const auto& part : {projections, attention, feed_forward_cost(width, config.feed_forward),
                           sum("norms", {norm, norm, norm, norm})})
    block.parts.push_back(part);
  for (auto& part : block.parts) part.flops *= double(config.writing_layers()) / double(config.num_layers);
  return block;
}

std::vector<CostPart> register_cost(const NvsConfig& config, const Surroundings& around) {
  const int64_t width = config.model_dim, count = config.perceiver.registers;
  const CostPart feed_forward = feed_forward_cost(width, config.feed_forward);
  CostPart own = sum("feed-forward of registers", {feed_forward, norm_cost("norm", width, config.norm)});
  own.parameters *= config.writing_layers();
  // q, k, v and output, attention to each other, feed-forward
  const double each = 8 * double(width) * double(width) + 4 * double(count) * double(width);
  own.flops = double(config.writing_layers()) * double(count) / around.chunk * (each + feed_forward.flops);
  return {{"registers", count * width, count * width}, own};
}

}  // namespace

void NvsConfig::check() const {
  check_size("patch_size", patch_size, kLargestPatch);
  check_size("model_dim", model_dim);
  check_size("num_layers", num_layers, kMostLayers);
  check_mixer("a view-synthesis model", mixer, num_layers,
              {MixerKind::lact, MixerKind::full, MixerKind::gla, MixerKind::deltanet, MixerKind::mamba2,
               MixerKind::perceiver, MixerKind::mamba2_block});
  check_layer("attention", model_dim, attention);
  check_no_convolution("attention.projection", attention.projection);
  check_layer("lact", model_dim, lact);
  check_no_convolution("lact.projection", lact.projection);
  check_recurrence("gla", *this, gla, MixerKind::gla);
  check_size("gla.gate_rank", gla.gate_rank);
  check_positive("gla.gate_divisor", gla.gate_divisor);
  check_recurrence("deltanet", *this, deltanet, MixerKind::deltanet);
  check_not_negative("deltanet.l2_epsilon", deltanet.l2_epsilon);
  check_mamba2(mamba2);
  check_perceiver(*this);
  check_ray_points(*this);
  check_gaussians(*this);
  check_long_lrm(*this);
  check_feed_forward("feed_forward", feed_forward);
  check_norm("norm", norm);
}

ModelCost cost(const NvsConfig& config, const ViewSet& views) {
  LACT_CHECK(views.inputs > 0, "[nvs] there are {} input views, expected at least 1", views.inputs);
  const auto& [image_height, image_width] = views.image_size;
  LACT_CHECK(image_height > 0 && image_height % config.decoded_patch() == 0 && image_width > 0 &&
                 image_width % config.decoded_patch() == 0,
             "[nvs] an image of {} pixels does not divide into patches of {}", views.image_size.text(),
             config.decoded_patch());
  const int64_t width = config.model_dim;
  const double per_view = double(image_height / config.patch_size) * double(image_width / config.patch_size);
  const double inputs = per_view * double(views.inputs);
  if (config.is_long_lrm()) return long_lrm_cost(config, inputs);
  ModelCost all;
  all.model_dim = width;
  all.num_layers = config.num_layers;
  all.around = {.attended = per_view, .chunk = inputs, .everything = inputs};
  all.blocks = block_costs(config.mixer, config.num_layers, [&](MixerKind kind) {
    return kind == MixerKind::perceiver ? perceiver_block_cost(config, all.around)
                                        : block_cost(config, kind, all.around);
  });
  all.others = {linear_cost("input layer", config.input_channels(), width, false),
                norm_cost("input norm", width, config.norm), norm_cost("decoder norm", width, config.norm),
                linear_cost("decoder", width, config.output_channels(), false)};
  if (config.mixer == MixerKind::perceiver) {
    for (const auto& part : register_cost(config, all.around)) all.others.push_back(part);
  }
  return all;
}

}  // namespace lact::models
