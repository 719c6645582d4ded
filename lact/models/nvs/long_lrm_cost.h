// What a token of an input view costs in Long-LRM.
#pragma once

#include "lact/models/nvs/config.h"

namespace lact::models {

/// The width of layer `index`, with the attention and feed-forward network that grow with it.
struct LongLrmLayer {
  int64_t width = 0;
  AttentionLayerConfig attention;
  nn::FeedForwardOptions feed_forward;
  nn::NormOptions norm;
};
LongLrmLayer long_lrm_layer(const NvsConfig& config, int64_t index);

/// `inputs` are the tokens of all views. A layer after merging has a quarter of them, and its work counts as
/// a quarter of a token's.
ModelCost long_lrm_cost(const NvsConfig& config, double inputs);

}  // namespace lact::models
