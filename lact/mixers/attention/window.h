// Multi-head softmax attention over the window of the layout. In pieces, it keeps the keys and values that
// later pieces still see.
#pragma once

#include "lact/mixers/attention/heads.h"
#include "lact/ops/attention/kept_tokens.h"

namespace lact::attention {

/// Keys (normed and rotated) and values from position `first` on; [B, T, H, D].
struct AttentionState : State {
  ops::KeptTokens k, v;
  int64_t first = 0;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<AttentionState>(*this); }
};

class WindowAttention : public Core, public nn::Recomputes {
 public:
  WindowAttention(int64_t model_dim, const AttentionConfig& config);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor mix(const Projected& in, const SequenceLayout& layout, State& state) override;
  bool takes_documents() const override { return true; }

  /// How states that begin from now on keep keys and values. Other than `automatic` for inference only.
  void set_cache(ops::CacheFormat format) { cache_ = format; }

 private:
  Heads heads_;
  ops::CacheFormat cache_ = ops::CacheFormat::automatic;
};

/// Of every window attention below the module.
void set_cache_below(torch::nn::Module& module, ops::CacheFormat format);

}  // namespace lact::attention
