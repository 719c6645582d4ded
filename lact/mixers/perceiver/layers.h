// The two layers of a Perceiver. With n the norm of the registers r and x the tokens, both normed:
//   reading:  r ← r + attention(q = n(r), k and v = [x; n(r)]), r ← r + feed_forward(norm(r))
//   looking:  y = attention(q = x, k and v = n(r))
// Registers see the tokens that the schedule writes; tokens see each other through them alone.
#pragma once

#include "lact/mixers/perceiver/registers.h"
#include "lact/mixers/projection.h"
#include "lact/nn/feed_forward.h"

namespace lact::perceiver {

struct LayerOptions {
  ProjectionConfig projection;
  int64_t num_heads = 1;
  bool head_norm = false;  ///< RMS-norm of q and k over the head's channels
  double head_norm_epsilon = 1e-6;
  nn::NormOptions norm;                 ///< of the registers
  nn::FeedForwardOptions feed_forward;  ///< of the registers, in layers that read
};

/// What both have: attention between tokens and registers.
class RegisterAttention : public torch::nn::Module {
 public:
  RegisterAttention(int64_t model_dim, const LayerOptions& options);

  at::Tensor queries(const at::Tensor& x) const;  ///< [B, T, M] -> [B, T, H, D]
  struct KeysAndValues {
    at::Tensor k, v;  ///< [B, T, H, D]
  };
  KeysAndValues keys_and_values(const at::Tensor& x) const;
  /// Every query sees every key: [B, Tq, M].
  at::Tensor attend(const at::Tensor& q, const KeysAndValues& seen) const;
  at::Tensor out(const at::Tensor& attended) const { return projection_->out(attended); }

 private:
  int64_t num_heads_;
  std::shared_ptr<Projection> projection_;
  std::shared_ptr<nn::Norm> q_norm_, k_norm_;
};

/// Reads tokens into the registers. The tokens learn nothing: `advance` and `read` give an undefined tensor.
class ReadingLayer : public SetMixer {
 public:
  ReadingLayer(int64_t model_dim, const LayerOptions& options, std::shared_ptr<const Registers> initial);

  std::unique_ptr<State> initial_state(int64_t batch) override { return initial_->initial_state(batch); }
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) override;

  void collect(const at::Tensor& x, const SequenceLayout& layout, State& state) override;
  void write_collected(State& state, const parallel::Group& ranks = {}) override;
  at::Tensor read(const at::Tensor&, const SequenceLayout&, const State&) override { return {}; }

 private:
  /// Registers that have seen [B, R, M].
  at::Tensor improved(const at::Tensor& registers, const at::Tensor& attended) const;

  std::shared_ptr<const Registers> initial_;  ///< the model's, not a child
  std::shared_ptr<RegisterAttention> attention_;
  std::shared_ptr<nn::Norm> norm_, feed_forward_norm_;
  std::shared_ptr<nn::FeedForward> feed_forward_;
};

/// Lets tokens look at the registers, which stay as they are.
class LookingLayer : public Mixer {
 public:
  LookingLayer(int64_t model_dim, const LayerOptions& options, std::shared_ptr<const Registers> initial);

  std::unique_ptr<State> initial_state(int64_t batch) override { return initial_->initial_state(batch); }
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) override;

 private:
  std::shared_ptr<const Registers> initial_;  ///< the model's, not a child
  std::shared_ptr<RegisterAttention> attention_;
  std::shared_ptr<nn::Norm> norm_;
};

}  // namespace lact::perceiver
