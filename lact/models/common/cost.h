// What a model costs, computed from its config by the paper's formulas (appendix, "State Size calculation",
// "FLOPs calculation", "Details of Muon"): parameters, state, and the work of a forward pass per
// token. Work is that of matrix products, two operations per multiply-add, as in the paper; elementwise steps
// are not counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/models/common/layers.h"
#include "lact/models/common/mixer_pattern.h"
#include "lact/nn/feed_forward.h"
#include "lact/nn/norm.h"

namespace lact::models {

struct CostPart {
  std::string name;
  int64_t parameters = 0;
  int64_t state = 0;  ///< elements of a sequence's memory, whatever was read: fast weights, matrices
  double flops = 0;   ///< forward, per token
};

CostPart sum(std::string name, const std::vector<CostPart>& parts);

/// What the cost of a token depends on besides the config.
struct Surroundings {
  double attended = 0;    ///< keys that a query of the window attention sees
  double chunk = 0;       ///< tokens that share one update of the fast weights
  double everything = 0;  ///< keys that a query of full attention sees
};

/// The fast weights of one layer. Momentum keeps a second set of the same size, which the paper does not
/// count as state.
struct FastWeightCost {
  int64_t head_dim = 0;
  int64_t hidden_dim = 0;    ///< rows of the first matrix
  int64_t num_matrices = 0;  ///< of one head
  int64_t state = 0;         ///< elements of all heads' matrices
  int64_t parameters = 0;    ///< learned initial weights: as many, or fewer with low rank
  double update_flops = 0;   ///< per token that is written
  double apply_flops = 0;    ///< per token that is read
  double muon_flops = 0;     ///< per update of the layer; 0 without Muon

  /// Tokens of a chunk for which Muon costs as much as update and apply. SwiGLU with square matrices: 5
  /// head_dim. The paper's 5/3 head_dim counts Muon on one of the three matrices.
  double break_even_chunk() const { return muon_flops / (update_flops + apply_flops); }

  /// Paper eq. 3: operations per byte of the product of a fast-weight matrix and `chunk` tokens, if matrix,
  /// tokens and result are moved once in bfloat16. At most head_dim / 2 for square matrices, and the chunk.
  double compute_to_memory(double chunk) const {
    const auto rows = double(hidden_dim), cols = double(head_dim);
    return 2 * rows * cols * chunk / (2 * (rows * cols + chunk * (rows + cols)));
  }
};

FastWeightCost fast_weight_cost(int64_t model_dim, const ttt::LactConfig& config);
/// Zeros for a mixer without fast weights.
FastWeightCost fast_weight_cost(int64_t model_dim, MixerKind kind, const HybridLayerConfig& config);

/// One Newton-Schulz iteration on a rows x cols matrix with m = min and n = max of the two: X Xᵀ, its square,
/// and their product with X; 2 m² n + 2 m³ + 2 m² n.
double newton_schulz_flops(int64_t rows, int64_t cols);

CostPart linear_cost(std::string name, int64_t in, int64_t out, bool bias);
CostPart norm_cost(std::string name, int64_t width, const nn::NormOptions& options);
CostPart feed_forward_cost(int64_t model_dim, const nn::FeedForwardOptions& options);
CostPart projection_cost(std::string name, int64_t model_dim, const ProjectionConfig& config);

/// A token that is both written and read. Tokens that are only read, such as target views and noisy frames,
/// skip the rows "update" and "Muon".
std::vector<CostPart> layer_cost(int64_t model_dim, MixerKind kind, const HybridLayerConfig& config,
                                 const Surroundings& around);
std::vector<CostPart> layer_cost(int64_t model_dim, const LactLayerConfig& config,
                                 const Surroundings& around);
std::vector<CostPart> layer_cost(int64_t model_dim, const AttentionLayerConfig& config,
                                 const Surroundings& around);
/// The same heads over everything.
std::vector<CostPart> full_layer_cost(int64_t model_dim, const AttentionLayerConfig& config,
                                      const Surroundings& around);

/// The blocks of a model that have one mixer.
struct BlockCost {
  MixerKind mixer = MixerKind::lact;
  int64_t count = 0;            ///< of them
  std::vector<CostPart> parts;  ///< of one
  FastWeightCost memory;        ///< of one; zeros without fast weights
  double kept_tokens = 0;  ///< whose keys and values are kept between pieces: of the window, or all of them

  CostPart one() const { return sum("one block", parts); }
  bool grows() const { return mixer == MixerKind::full; }  ///< with what is read
};

struct ModelCost {
  int64_t model_dim = 0;
  int64_t num_layers = 0;
  Surroundings around;
  std::vector<BlockCost> blocks;  ///< one for each word of the pattern, in its order
  std::vector<CostPart> others;   ///< what the model has once: embeddings, head

  /// Of the first word, which is the only one of most models.
  const std::vector<CostPart>& block() const { return blocks.front().parts; }
  const FastWeightCost& memory() const { return blocks.front().memory; }
  int64_t block_state() const { return blocks.front().one().state; }

  CostPart total() const;
  double state_share() const;       ///< state / parameters
  double state_in_squares() const;  ///< state of one block / model_dim², of the first word
  double state_in_widths() const;   ///< state of one block / model_dim: the paper's table 3
};

/// A cost with blocks of each word: `block_of(kind)` gives parts, memory and kept tokens of one.
template <class BlockOf>
std::vector<BlockCost> block_costs(const MixerPattern& pattern, int64_t num_layers, const BlockOf& block_of) {
  std::vector<BlockCost> blocks;
  for (const MixerKind kind : pattern.kinds()) {
    blocks.push_back(block_of(kind));
    blocks.back().mixer = kind;
    blocks.back().count = pattern.count_of(kind, num_layers);
  }
  return blocks;
}

}  // namespace lact::models
