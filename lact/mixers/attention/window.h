// Multi-head softmax attention over the window of the layout. In pieces, it keeps the keys and values that
// later pieces still see.
#pragma once

#include <optional>

#include "lact/mixers/mixer.h"
#include "lact/nn/norm.h"
#include "lact/ops/rope.h"

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

/// Keys (normed and turned) and values from position `first` on; [B, T, H, D].
struct AttentionState : State {
  at::Tensor k, v;
  int64_t first = 0;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
};

class WindowAttention : public Core {
 public:
  WindowAttention(int64_t model_dim, const AttentionConfig& config);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor mix(const Projected& in, const SequenceLayout& layout, State& state) override;

 private:
  AttentionConfig config_;
  int64_t head_dim_;
  std::shared_ptr<nn::Norm> q_norm_, k_norm_;
};

}  // namespace lact::attention
