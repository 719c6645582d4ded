// What a model costs, computed from its config by the paper's formulas (appendix, "State Size calculation",
// "FLOPs calculation", "Details of Muon"): parameters, fast-weight state, and the work of a forward pass per
// token. Work is that of matrix products, two operations per multiply-add, as in the paper; elementwise steps
// are not counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lact/models/common/layers.h"
#include "lact/nn/feed_forward.h"
#include "lact/nn/norm.h"

namespace lact::models {

struct CostPart {
  std::string name;
  int64_t parameters = 0;
  int64_t state = 0;  ///< elements of the fast weights of one sequence
  double flops = 0;   ///< forward, per token
};

CostPart sum(std::string name, const std::vector<CostPart>& parts);

/// What the cost of a token depends on besides the config.
struct Surroundings {
  double attended = 0;  ///< keys that a query of the window attention sees
  double chunk = 0;     ///< tokens that share one update of the fast weights
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
FastWeightCost fast_weight_cost(int64_t model_dim, const HybridLayerConfig& config);

/// One Newton-Schulz iteration on a rows x cols matrix with m = min and n = max of the two: X Xᵀ, its square,
/// and their product with X; 2 m² n + 2 m³ + 2 m² n.
double newton_schulz_flops(int64_t rows, int64_t cols);

CostPart linear_cost(std::string name, int64_t in, int64_t out, bool bias);
CostPart norm_cost(std::string name, int64_t width, const nn::NormOptions& options);
CostPart feed_forward_cost(int64_t model_dim, const nn::FeedForwardOptions& options);
CostPart projection_cost(std::string name, int64_t model_dim, const ProjectionConfig& config);

/// A token that is both written and read. Tokens that are only read, such as target views and noisy frames,
/// skip the rows "update" and "Muon".
std::vector<CostPart> layer_cost(int64_t model_dim, const HybridLayerConfig& config,
                                 const Surroundings& around);
std::vector<CostPart> layer_cost(int64_t model_dim, const LactLayerConfig& config,
                                 const Surroundings& around);
std::vector<CostPart> layer_cost(int64_t model_dim, const AttentionLayerConfig& config,
                                 const Surroundings& around);

struct ModelCost {
  int64_t model_dim = 0;
  int64_t num_layers = 0;
  Surroundings around;
  FastWeightCost memory;         ///< of one block
  std::vector<CostPart> block;   ///< of one block
  std::vector<CostPart> others;  ///< what the model has once: embeddings, head

  CostPart total() const;
  double state_share() const;       ///< fast-weight state / parameters
  double state_in_squares() const;  ///< state of one block / model_dim²
};

}  // namespace lact::models
