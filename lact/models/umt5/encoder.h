// The umT5 encoder; its parameters have the names that Wan 2.1 published. Blocks of attention without a
// scale, with a learned bias for each distance between tokens, and a gated GELU network; RMS-norms; no other
// biases.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "lact/models/umt5/config.h"

namespace lact::models {

class Umt5Block;

class Umt5Encoder : public torch::nn::Module {
 public:
  /// The weights are kept in `type`; bfloat16 halves the memory of 5.7 billion of them. The tokens are
  /// float32 unless the weights are wider.
  explicit Umt5Encoder(const Umt5Config& config, at::ScalarType type = at::kFloat);
  const Umt5Config& config() const { return config_; }

  /// ids [B, L], mask [B, L] with 1 for a token and 0 for padding -> [B, L, model_dim]; values at padding
  /// mean nothing. An undefined mask is all ones.
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& mask = {}) const;

 private:
  Umt5Config config_;
  at::Tensor embedding_;  ///< [vocabulary, model_dim]
  std::vector<std::shared_ptr<Umt5Block>> blocks_;
  at::Tensor norm_;  ///< [model_dim]
};

/// Which group the distance from query i to key j belongs to: [queries, keys], int64. Half of the groups are
/// for keys behind the query. Short distances have a group each, longer ones share by their logarithm.
at::Tensor distance_buckets(int64_t queries, int64_t keys, int64_t buckets, int64_t furthest);

}  // namespace lact::models
