// Full attention: a token sees everything that it could know through the memory or the window of the layout.
// What it remembers are the keys and values of all tokens that the schedule writes: the baseline whose state
// grows with what was read.
#pragma once

#include <vector>

#include "lact/mixers/attention/heads.h"

namespace lact::attention {

/// Keys (normed and rotated) and values of the tokens written so far, [B, T, H, D].
struct FullState : State {
  at::Tensor k, v;
  std::vector<at::Tensor> collected_k, collected_v;  ///< of a write that is under way

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<FullState>(*this); }
};

class FullAttention : public SetCore {
 public:
  FullAttention(int64_t model_dim, const AttentionConfig& config);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor mix(const Projected& in, const SequenceLayout& layout, State& state) override;

  void collect(const Projected& in, const SequenceLayout& layout, State& state) override;
  void write_collected(State& state) override;
  bool sees_itself() const override { return true; }
  at::Tensor read(const Projected& in, const SequenceLayout& layout, const State& state) override;

 private:
  /// What the tokens of `layout` read of themselves and of the state.
  at::Tensor attend(const HeadInputs& heads, const SequenceLayout& layout, const FullState& state) const;

  Heads heads_;
};

}  // namespace lact::attention
