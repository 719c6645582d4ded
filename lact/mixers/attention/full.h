// Full attention: a token sees everything that the layout lets it know: all that was remembered before it,
// and what its window shows of its own stretch, in a text all tokens before it. It keeps the keys and values
// of every token that is remembered: the baseline whose state grows with what was read.
#pragma once

#include <vector>

#include "lact/mixers/attention/cache.h"
#include "lact/mixers/sharding.h"

namespace lact::attention {

/// Keys and values of the tokens remembered so far.
struct FullState : State, KeyValueCache {
  std::vector<at::Tensor> collected_k, collected_v;  ///< of a write that is under way

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<FullState>(*this); }
  int64_t forgettable() const override { return count(); }
  void forget_last(int64_t tokens) override { drop_last(tokens); }
};

class FullAttention : public SetCore, public Caches, public SharesHeads {
 public:
  FullAttention(int64_t model_dim, const AttentionConfig& config);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor mix(const Projected& in, const SequenceLayout& layout, State& state) override;

  void collect(const Projected& in, const SequenceLayout& layout, State& state) override;
  void write_collected(State& state, const parallel::Group& ranks = {}) override;
  bool sees_itself() const override { return true; }
  int64_t shared_heads() const override { return heads_.count(); }
  at::Tensor read(const Projected& in, const SequenceLayout& layout, const State& state) override;

 private:
  HeadInputs split(const Projected& in, const SequenceLayout& layout) const;

  Heads heads_;
};

}  // namespace lact::attention
