#include "lact/models/common/config_checks.h"

#include <algorithm>

#include "lact/base/error.h"

namespace lact::models {

namespace {

/// It has converged to rounding long before.
constexpr int64_t kMostNewtonSchulzSteps = 100;
constexpr int64_t kMostInnerSteps = 64;

/// An epsilon that is not in use may be 0.
void check_epsilon(const std::string& path, double value, bool used) {
  used ? check_positive(path, value) : check_not_negative(path, value);
}

void check_rope(const std::string& path, int64_t num_heads, int64_t model_dim, const ops::RopeOptions& rope) {
  const int64_t width = model_dim / num_heads;
  LACT_CHECK(
      width % 2 == 0,
      "[config] {} heads of model_dim {} are {} channels wide, but rotary embedding needs an even number",
      num_heads, model_dim, width);
  check_positive(path + ".base", rope.base);
}

void check_attention(const std::string& path, int64_t model_dim, const attention::AttentionConfig& config) {
  check_heads(path + ".num_heads", config.num_heads, model_dim);
  check_epsilon(path + ".head_norm_epsilon", config.head_norm_epsilon, config.head_norm);
  if (config.rope) check_rope(path + ".rope", config.num_heads, model_dim, *config.rope);
}

void check_update(const std::string& path, const ttt::UpdateRule& update) {
  LACT_CHECK(update.newton_schulz.steps >= 0 && update.newton_schulz.steps <= kMostNewtonSchulzSteps,
             "[config] {}.newton_schulz.steps is {}, expected 0 to {}", path, update.newton_schulz.steps,
             kMostNewtonSchulzSteps);
  check_not_negative(path + ".newton_schulz.epsilon", update.newton_schulz.epsilon);
  check_not_negative(path + ".norm_epsilon", update.norm_epsilon);
  check_size(path + ".steps", update.steps, kMostInnerSteps);
  const auto check_share = [&](const char* name, double value) {
    LACT_CHECK(value >= 0 && value <= 1, "[config] {}.elastic.{} is {}, expected 0 to 1", path, name, value);
  };
  check_share("pull", update.elastic.pull);
  check_share("importance_decay", update.elastic.importance_decay);
  check_share("anchor_decay", update.elastic.anchor_decay);
}

void check_memory(const std::string& path, int64_t model_dim, const ttt::LactConfig& config) {
  check_heads(path + ".num_heads", config.num_heads, model_dim);
  const int64_t width = model_dim / config.num_heads;
  const double hidden = double(width) * config.hidden_multiple;
  LACT_CHECK(hidden >= 1 && hidden <= double(kMostChannels),
             "[config] {}.hidden_multiple is {}, which gives a head of width {} no possible hidden width",
             path, config.hidden_multiple, width);
  const auto matrices = ttt::network(config.network).matrices(width, int64_t(hidden), width);
  ttt::loss(config.loss);  // throws for an unknown name
  for (const auto& matrix : matrices) {
    if (matrix.fixed) continue;
    LACT_CHECK(config.rate_channels == 1 || config.rate_channels == matrix.in,
               "[config] {}.rate_channels is {}, expected 1 or the {} input channels of {}", path,
               config.rate_channels, matrix.in, matrix.name);
  }
  // Also where they are not in use.
  check_not_negative(path + ".rope.base", config.rope.base);
  LACT_CHECK(config.rope_heads >= 0 && config.rope_heads <= kMostChannels,
             "[config] {}.rope_heads is {}, expected 0 (as many as num_heads) to {}", path, config.rope_heads,
             kMostChannels);
  const auto& steps = config.prepare_qk;
  if (std::find(steps.begin(), steps.end(), ttt::Preparation::rope) != steps.end()) {
    const int64_t heads = config.rope_heads == 0 ? config.num_heads : config.rope_heads;
    check_heads(path + ".rope_heads", heads, model_dim);
    check_rope(path + ".rope", heads, model_dim, config.rope);
  }
  LACT_CHECK(config.initial_weights.rank >= 0 && config.initial_weights.rank <= kMostChannels,
             "[config] {}.initial_weights.rank is {}, expected 0 (full) or more", path,
             config.initial_weights.rank);
  check_positive(path + ".initial_weights.gain", config.initial_weights.gain);
  check_positive(path + ".base_rate", config.base_rate);
  check_not_negative(path + ".l2_epsilon", config.l2_epsilon);
  check_not_negative(path + ".output_norm_epsilon", config.output_norm_epsilon);
  check_not_negative(path + ".output_factor", config.output_factor);
  check_update(path + ".update", config.update);
}

}  // namespace

void check_size(const std::string& path, int64_t value, int64_t largest) {
  LACT_CHECK(value >= 1 && value <= largest, "[config] {} is {}, expected 1 to {}", path, value, largest);
}

void check_positive(const std::string& path, double value) {
  LACT_CHECK(value > 0 && value <= kLargestNumber, "[config] {} is {}, expected a positive number up to {:g}",
             path, value, kLargestNumber);
}

void check_not_negative(const std::string& path, double value) {
  LACT_CHECK(value >= 0 && value <= kLargestNumber, "[config] {} is {}, expected 0 to {:g}", path, value,
             kLargestNumber);
}

void check_heads(const std::string& path, int64_t num_heads, int64_t model_dim) {
  check_size(path, num_heads);
  LACT_CHECK(model_dim % num_heads == 0, "[config] {} is {}, which does not divide model_dim {}", path,
             num_heads, model_dim);
}

void check_projection(const std::string& path, const ProjectionConfig& config) {
  check_epsilon(path + ".qk_norm_epsilon", config.qk_norm_epsilon, config.qk_norm);
  LACT_CHECK(config.conv_width >= 0 && config.conv_width <= 64,
             "[config] {}.conv_width is {}, expected 0 to 64", path, config.conv_width);
}

void check_norm(const std::string& path, const nn::NormOptions& options) {
  LACT_CHECK(!(options.bias && options.kind == nn::NormKind::rms),
             "[config] {}.bias is true, but an RMS-norm has no bias", path);
  check_positive(path + ".epsilon", options.epsilon);
}

void check_feed_forward(const std::string& path, const nn::FeedForwardOptions& options) {
  check_size(path + ".hidden_dim", options.hidden_dim);
}

void check_layer(const std::string& path, int64_t model_dim, const HybridLayerConfig& config) {
  check_projection(path + ".projection", config.projection);
  check_attention(path + ".attention", model_dim, config.attention);
  if (config.memory_kind == MemoryKind::lact) check_memory(path + ".memory", model_dim, config.memory);
}

void check_layer(const std::string& path, int64_t model_dim, const LactLayerConfig& config) {
  check_projection(path + ".projection", config.projection);
  check_memory(path + ".memory", model_dim, config.memory);
}

void check_layer(const std::string& path, int64_t model_dim, const AttentionLayerConfig& config) {
  check_projection(path + ".projection", config.projection);
  check_attention(path + ".attention", model_dim, config.attention);
}

}  // namespace lact::models
