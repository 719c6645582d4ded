// Multi-head softmax attention over the window of the layout. In pieces, it keeps the keys and values that
// later pieces still see.
#pragma once

#include "lact/mixers/attention/cache.h"
#include "lact/mixers/sharding.h"

namespace lact::attention {

/// Keys and values from position `first` on.
struct AttentionState : State, KeyValueCache {
  int64_t first = 0;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<AttentionState>(*this); }
  int64_t forgettable() const override { return count(); }
  void forget_last(int64_t tokens) override { drop_last(tokens); }
};

class WindowAttention : public Core, public Caches, public nn::Recomputes, public SharesHeads {
 public:
  WindowAttention(int64_t model_dim, const AttentionConfig& config);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor mix(const Projected& in, const SequenceLayout& layout, State& state) override;
  bool takes_documents() const override { return true; }
  int64_t shared_heads() const override { return heads_.count(); }

 private:
  Heads heads_;
};

}  // namespace lact::attention
