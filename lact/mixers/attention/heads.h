// What attention does to q, k and v before they meet: heads, norms, rotary embedding.
#pragma once

#include <optional>

#include "lact/mixers/mixer.h"
#include "lact/nn/norm.h"
#include "lact/nn/recompute.h"
#include "lact/ops/rope/rope.h"

namespace lact::attention {

struct AttentionConfig {
  int64_t num_heads = 1;
  bool head_norm = false;
  double head_norm_epsilon = 1e-6;
  std::optional<ops::RopeOptions> rope;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("num_heads", num_heads, "attention heads");
    field("head_norm", head_norm,
          "RMS-norm of q and k over the head's channels, with one learned scale for all heads");
    field("head_norm_epsilon", head_norm_epsilon, "epsilon of that norm");
    field("rope", rope, "rotary position embedding, or null");
  }
  bool operator==(const AttentionConfig&) const = default;
};

/// [B, T, H, D] each
struct HeadInputs {
  at::Tensor q, k, v;
};

class Heads {
 public:
  /// The norms become `q_norm` and `k_norm` of `owner`.
  Heads(torch::nn::Module& owner, int64_t model_dim, const AttentionConfig& config);

  /// What is undefined stays so. What norms and rotation make is checkpointed.
  HeadInputs split(const Projected& in, const SequenceLayout& layout,
                   nn::ActivationCheckpointing& checkpointing) const;

  int64_t count() const { return config_.num_heads; }

  /// [B, 0, H, D]
  at::Tensor no_tokens(int64_t batch) const;

 private:
  AttentionConfig config_;
  int64_t head_dim_;
  std::shared_ptr<nn::Norm> q_norm_, k_norm_;
  at::Tensor place_;  ///< holds nothing, but moves with the owner, which may have no parameter
};

}  // namespace lact::attention
