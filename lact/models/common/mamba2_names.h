// The published names of the full Mamba-2 block's parameters.
#pragma once

#include "lact/mixers/recurrent/mamba2_block.h"
#include "lact/models/common/foreign.h"

namespace lact::models {

/// Mamba2Simple of the official code, one direction: names of a recurrent::Mamba2Block.
ForeignNames mamba2_simple_names(int64_t model_dim, const recurrent::Mamba2BlockConfig& config);

/// A layer of Long-LRM, one direction or both: names of a recurrent::ResidualMamba2Block.
ForeignNames long_lrm_mamba2_names(int64_t model_dim, const recurrent::Mamba2BlockConfig& config);

}  // namespace lact::models
