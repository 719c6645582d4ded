#include "lact/models/common/config_checks.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/base/options.h"

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

/// What does not depend on the model.
void check_memory_numbers(const std::string& path, const ttt::LactConfig& config) {
  check_size(path + ".num_heads", config.num_heads);
  check_positive(path + ".hidden_multiple", config.hidden_multiple);
  check_size(path + ".rate_channels", config.rate_channels);
  ttt::network(config.network);  // throws for an unknown name
  ttt::loss(config.loss);
  // Also where they are not in use.
  check_not_negative(path + ".rope.base", config.rope.base);
  LACT_CHECK(config.rope_heads >= 0 && config.rope_heads <= kMostChannels,
             "[config] {}.rope_heads is {}, expected 0 (as many as num_heads) to {}", path, config.rope_heads,
             kMostChannels);
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

void check_memory(const std::string& path, int64_t model_dim, const ttt::LactConfig& config) {
  check_memory_numbers(path, config);
  check_heads(path + ".num_heads", config.num_heads, model_dim);
  const int64_t width = model_dim / config.num_heads;
  const double hidden = double(width) * config.hidden_multiple;
  LACT_CHECK(hidden >= 1 && hidden <= double(kMostChannels),
             "[config] {}.hidden_multiple is {}, which gives a head of width {} no possible hidden width",
             path, config.hidden_multiple, width);
  for (const auto& matrix : ttt::network(config.network).matrices(width, int64_t(hidden), width)) {
    if (matrix.fixed) continue;
    LACT_CHECK(config.rate_channels == 1 || config.rate_channels == matrix.in,
               "[config] {}.rate_channels is {}, expected 1 or the {} input channels of {}", path,
               config.rate_channels, matrix.in, matrix.name);
  }
  const auto& steps = config.prepare_qk;
  if (std::find(steps.begin(), steps.end(), ttt::Preparation::rope) != steps.end()) {
    const int64_t heads = config.rope_heads == 0 ? config.num_heads : config.rope_heads;
    check_heads(path + ".rope_heads", heads, model_dim);
    check_rope(path + ".rope", heads, model_dim, config.rope);
  }
}

/// What the recurrences of tokens in their order have in common.
template <class Config>
void check_recurrence(const std::string& path, const Config& config, int64_t model_dim, bool used) {
  const std::string heads = path + ".num_heads";
  used ? check_heads(heads, config.num_heads, model_dim) : check_size(heads, config.num_heads);
  LACT_CHECK(!config.both_ways, "[config] {}.both_ways is true, but text and video have one direction", path);
  check_head_output(path + ".output", config.output);
}

/// Why a model may have no use for a mixer.
std::string why_not(MixerKind kind) {
  switch (kind) {
    case MixerKind::perceiver:
      return "whose registers read a set of views";
    case MixerKind::mamba2_block:
      return "the layers of a model of views, Long-LRM";
    case MixerKind::window:
      return "but each view attends to itself in any case, and a window lets it know no other";
    default:
      return fmt::format("and {} is not to be had here", options::word_of(kind));
  }
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

void check_head_output(const std::string& path, const HeadOutputConfig& config) {
  check_not_negative(path + ".norm_epsilon", config.norm_epsilon);
  check_not_negative(path + ".factor", config.factor);
}

void check_step_shift(const std::string& path, double shift) {
  constexpr double kFarthest = 100;  // softplus is 0 or the identity long before
  LACT_CHECK(std::abs(shift) <= kFarthest, "[config] {}.step_shift is {}, expected {} to {}", path, shift,
             -kFarthest, kFarthest);
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

void check_layer(const std::string& path, int64_t model_dim, const MixerPattern& mixer,
                 const HybridLayerConfig& config) {
  check_projection(path + ".projection", config.projection);
  check_attention(path + ".attention", model_dim, config.attention);
  const auto check = [&](const char* name, MixerKind kind, const ttt::LactConfig& memory) {
    mixer.has(kind) ? check_memory(path + name, model_dim, memory)
                    : check_memory_numbers(path + name, memory);
  };
  check(".memory", MixerKind::lact, config.memory);
  check(".ttt", MixerKind::ttt, config.ttt);
  check_recurrence(path + ".gla", config.gla, model_dim, mixer.has(MixerKind::gla));
  check_size(path + ".gla.gate_rank", config.gla.gate_rank);
  check_positive(path + ".gla.gate_divisor", config.gla.gate_divisor);
  check_recurrence(path + ".deltanet", config.deltanet, model_dim, mixer.has(MixerKind::deltanet));
  check_not_negative(path + ".deltanet.l2_epsilon", config.deltanet.l2_epsilon);
  check_recurrence(path + ".mamba2", config.mamba2, model_dim, mixer.has(MixerKind::mamba2));
  check_step_shift(path + ".mamba2", config.mamba2.step_shift);
}

void check_mixer(const std::string& what, const MixerPattern& mixer, int64_t num_layers,
                 const std::vector<MixerKind>& known) {
  std::vector<std::string_view> words;
  for (const MixerKind kind : known) words.push_back(options::word_of(kind));
  for (const MixerKind kind : mixer.kinds()) {
    const bool usable = std::find(known.begin(), known.end(), kind) != known.end();
    LACT_CHECK(usable, "[config] mixer is {}, {}; {} has {}", mixer.text(), why_not(kind), what,
               fmt::join(words, ", "));
  }
  LACT_CHECK(mixer.period() <= num_layers,
             "[config] mixer is {}, a pattern of {} layers, but num_layers is {}", mixer.text(),
             mixer.period(), num_layers);
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
