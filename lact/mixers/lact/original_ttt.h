// The regime that came before large chunks (Sun et al. 2024): small networks with a layer norm and a residual
// inside of the loss, squared error, plain gradient steps after every 16 to 64 tokens.
#pragma once

#include "lact/mixers/lact/lact.h"

namespace lact::ttt {

/// Chunks of the original, in tokens.
inline constexpr int64_t kOriginalTttChunk = 16;

/// TTT-Linear, whose heads are 64 channels wide in the original; its MLP is `network` = ttt_mlp with
/// `hidden_multiple` 4 and a tenth of the rate. What differs from the original is in docs/baselines.md.
LactConfig original_ttt(int64_t num_heads);

}  // namespace lact::ttt
