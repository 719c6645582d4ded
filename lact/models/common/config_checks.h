// Sizes that cannot work, said in the words of the config before anything is built: "[config]
// layer.attention.num_heads is 5, which does not divide model_dim 64". `path` is where the part stands in the
// whole config.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/models/common/layers.h"
#include "lact/models/common/mixer_pattern.h"
#include "lact/nn/feed_forward.h"
#include "lact/nn/norm.h"

namespace lact::models {

/// Sizes beyond these are typing errors, and their products would not fit an integer.
inline constexpr int64_t kMostChannels = 1 << 20;
inline constexpr int64_t kMostLayers = 1 << 12;
inline constexpr int64_t kLargestPatch = 1 << 10;
inline constexpr int64_t kMostTokens = 1 << 30;  ///< of a chunk or a window
inline constexpr double kLargestNumber = 1e12;

/// 1 .. largest
void check_size(const std::string& path, int64_t value, int64_t largest = kMostChannels);

void check_positive(const std::string& path, double value);
void check_not_negative(const std::string& path, double value);

void check_norm(const std::string& path, const nn::NormOptions& options);
void check_projection(const std::string& path, const ProjectionConfig& config);
void check_head_output(const std::string& path, const HeadOutputConfig& config);
void check_step_shift(const std::string& path, double shift);
void check_feed_forward(const std::string& path, const nn::FeedForwardOptions& options);
/// The parts that the mixers use; of the others only that their numbers are within reason.
void check_layer(const std::string& path, int64_t model_dim, const MixerPattern& mixer,
                 const HybridLayerConfig& config);
void check_layer(const std::string& path, int64_t model_dim, const LactLayerConfig& config);
void check_layer(const std::string& path, int64_t model_dim, const AttentionLayerConfig& config);

/// Words that `what`, such as "a language model", has no layers for, and patterns longer than the model.
void check_mixer(const std::string& what, const MixerPattern& mixer, int64_t num_layers,
                 const std::vector<MixerKind>& known);

/// The heads of a projection, such as a cross attention's.
void check_heads(const std::string& path, int64_t num_heads, int64_t model_dim);

}  // namespace lact::models
