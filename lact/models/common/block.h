// A residual block: x ← x + mixer(norm(x)) for each of its mixers, then x ← x + feed_forward(norm(x)).
// One mixer makes the language model's block; per-image attention and LaCT make view synthesis's.
#pragma once

#include <vector>

#include "lact/mixers/mixer.h"
#include "lact/nn/feed_forward.h"
#include "lact/nn/norm.h"
#include "lact/nn/recompute.h"

namespace lact::models {

struct BlockState : State {
  std::vector<std::unique_ptr<State>> mixers;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override;
  int64_t forgettable() const override;
  void forget_last(int64_t tokens) override;
};

class Block : public torch::nn::Module, public nn::Recomputes {
 public:
  Block(int64_t model_dim, const nn::NormOptions& norm, std::vector<std::shared_ptr<Mixer>> mixers,
        const nn::FeedForwardOptions& feed_forward);

  std::unique_ptr<BlockState> initial_state(int64_t batch);

  /// x [B, T, M] -> [B, T, M], from the learned initial state, or continuing from a given one.
  at::Tensor forward(const at::Tensor& x, const SequenceLayout& layout);
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, BlockState& state);
  /// Several texts, as in Mixer; their states are BlockStates.
  at::Tensor advance_together(at::Tensor x, std::span<const SequencePiece> pieces);

 protected:
  std::vector<std::shared_ptr<Mixer>> mixers_;
  std::vector<std::shared_ptr<nn::Norm>> mixer_norms_;
  std::shared_ptr<nn::Norm> feed_forward_norm_;
  std::shared_ptr<nn::FeedForward> feed_forward_;
};

}  // namespace lact::models
