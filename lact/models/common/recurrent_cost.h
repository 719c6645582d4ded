// What a recurrence costs: its state is a matrix per head, and the work is that of its exact form, token by
// token. The chunkwise form that training uses takes some more.
#pragma once

#include <vector>

#include "lact/mixers/recurrent/mamba2_block.h"
#include "lact/mixers/recurrent/mamba2_mixer.h"
#include "lact/models/common/cost.h"

namespace lact::models {

std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::GlaConfig& config);
std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::DeltaNetConfig& config);
std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::Mamba2Config& config);

/// Layers of their own, projections included.
std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::Mamba2MixerConfig& config);
std::vector<CostPart> recurrent_cost(int64_t model_dim, const recurrent::Mamba2BlockConfig& config);

}  // namespace lact::models
