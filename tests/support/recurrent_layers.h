// Small layers around every recurrence, in float64 and with weights large enough that every dependence shows.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lact/mixers/hybrid.h"
#include "lact/mixers/recurrent/deltanet.h"
#include "lact/mixers/recurrent/gla.h"
#include "lact/mixers/recurrent/mamba2.h"
#include "lact/mixers/single.h"

namespace lact::testing {

inline constexpr int64_t kRecurrentDim = 12;

struct RecurrentCase {
  std::string name;
  std::function<std::shared_ptr<Core>(bool both_ways)> make;
};

inline std::vector<RecurrentCase> recurrent_cores() {
  return {{"gla",
           [](bool both_ways) {
             recurrent::GlaConfig config;
             config.num_heads = 3;
             config.gate_rank = 5;
             config.gate_divisor = 4;
             config.both_ways = both_ways;
             return std::make_shared<recurrent::Gla>(kRecurrentDim, config);
           }},
          {"deltanet",
           [](bool both_ways) {
             recurrent::DeltaNetConfig config;
             config.num_heads = 2;
             config.both_ways = both_ways;
             return std::make_shared<recurrent::DeltaNet>(kRecurrentDim, config);
           }},
          {"deltanet, beta up to 2",
           [](bool both_ways) {
             recurrent::DeltaNetConfig config;
             config.num_heads = 4;
             config.silu_v = false;
             config.negative_eigenvalues = true;
             config.both_ways = both_ways;
             return std::make_shared<recurrent::DeltaNet>(kRecurrentDim, config);
           }},
          {"mamba2", [](bool both_ways) {
             recurrent::Mamba2Config config;
             config.num_heads = 2;
             config.step_shift = -1;
             config.both_ways = both_ways;
             return std::make_shared<recurrent::Mamba2>(kRecurrentDim, config);
           }}};
}

/// Adds to all parameters, in float64.
template <class Layer>
std::shared_ptr<Layer> with_large_weights(std::shared_ptr<Layer> layer) {
  at::NoGradGuard no_grad;
  layer->to(at::kDouble);
  for (auto& parameter : layer->parameters()) parameter.add_(at::randn_like(parameter) * 0.3);
  return layer;
}

inline std::shared_ptr<Mixer> hybrid_of(std::shared_ptr<Core> core, bool rope = true) {
  ProjectionConfig projection;
  projection.conv_width = 3;
  attention::AttentionConfig attention;
  attention.num_heads = 2;
  if (rope) attention.rope = ops::RopeOptions{100};
  return with_large_weights(
      std::make_shared<HybridMixer>(kRecurrentDim, projection, attention, std::move(core), Rescaled::memory));
}

inline std::shared_ptr<Mixer> alone(std::shared_ptr<Core> core) {
  return with_large_weights(
      std::make_shared<SingleMixer>(kRecurrentDim, ProjectionConfig{}, std::move(core)));
}

}  // namespace lact::testing
