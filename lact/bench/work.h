// How much work the measured operations are: what a good implementation executes, not what a naive one would.
// Two operations per multiply-add; elementwise steps are not counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lact/bench/ttt_problem.h"
#include "lact/models/lm/config.h"

namespace lact::bench {

enum class Pass { forward, forward_backward };

/// Newton-Schulz with m <= n the sides of the matrix. The symmetric products count as halves: a step is
/// 3 m² n + m³ forward and 6 m² n + 2 m³ backward.
double newton_schulz_work(int64_t rows, int64_t cols, int64_t steps, Pass pass);

/// A SwiGLU scan: 18 D F per token forward (6 products for the update, 3 for the apply), three times that
/// with the backward pass, and Newton-Schulz of three matrices per chunk. Recomputing repeats five products
/// per token (hidden layers of keys, the gradients that reach them, and queries) and Newton-Schulz forward.
double ttt_work(const TttShape& shape, Pass pass, bool recompute);

/// The token products alone.
double ttt_token_work(const TttShape& shape, Pass pass);

/// Pairs of query and key in a causal sliding window.
double window_pairs(int64_t tokens, int64_t window);

/// 2 products of a head's width per pair forward; 5 more backward, the scores being made again.
double attention_work(int64_t tokens, int64_t window, int64_t heads, int64_t width, Pass pass);

/// The model's own work ("model flops") of a forward pass over one sequence, by part: "projections", "window
/// attention", "fast weights", "feed-forward", "head" and small parts; what is really attended and written
/// counts. A training step is three times that.
std::map<std::string, double> lm_work(const models::LmConfig& config, int64_t tokens);
double total(const std::map<std::string, double>& parts);

/// Bytes of weights, fast weights and window that writing one token must read. `bytes_per_weight` is that of
/// the matrices of the model; fast weights are float32, the window `bytes_per_kept`. Of several texts at
/// once, the weights are read once for all.
double decode_bytes(const models::LmConfig& config, int64_t depth, double bytes_per_weight,
                    double bytes_per_kept, int64_t texts = 1);

}  // namespace lact::bench
