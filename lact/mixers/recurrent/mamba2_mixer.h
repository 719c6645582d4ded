// The paper's Mamba-2 layer for views: two independent multi-head Mambas, one reading from left to right and
// one from right to left, each with projections of its own. Their heads together may be wider than the model.
//   X, B, C, δ = Linear(x);  H_t = e^{-δ_t} H_{t-1} + δ_t B_tᵀ X_t;  y_t = C_t H_t
// Tokens that only read (target views) leave both states as they are.
#pragma once

#include "lact/mixers/recurrent/mamba2.h"

namespace lact::recurrent {

struct Mamba2MixerConfig {
  int64_t num_heads = 8;
  int64_t head_dim = 192;
  bool both_ways = true;
  double step_shift = kStepShift;
  HeadOutputConfig output = {.scale = OutputScale::none};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("num_heads", num_heads, "heads of each direction");
    field("head_dim", head_dim, "width of a head; the state of one is head_dim x head_dim");
    field("both_ways", both_ways, kBothWaysHelp);
    field("step_shift", step_shift, "added before the softplus that gives the step size of a token");
    field("output", output, "norm and scale of the two directions' sum");
  }
  bool operator==(const Mamba2MixerConfig&) const = default;
};

/// One multi-head Mamba with its projections.
class MultiHeadMamba2 : public torch::nn::Module {
 public:
  MultiHeadMamba2(int64_t model_dim, const Mamba2MixerConfig& config);

  /// [B, T, M] -> [B, H, T, D]
  at::Tensor forward(const at::Tensor& x, const SequenceLayout& layout, Direction direction,
                     nn::ActivationCheckpointing& checkpointing, at::Tensor& state) const;

 private:
  double step_shift_;
  std::shared_ptr<nn::Linear> projection_;  ///< rows [C; B; X]
  std::shared_ptr<nn::Linear> step_;        ///< of every head
};

/// One direction or two, before they are added: the layer without its output projection.
class Mamba2Directions : public torch::nn::Module, public SharesHeads {
 public:
  Mamba2Directions(int64_t model_dim, const Mamba2MixerConfig& config);

  int64_t shared_heads() const override { return config_.num_heads; }

  std::unique_ptr<RecurrentState> initial_state(int64_t batch) const;

  struct Outputs {
    at::Tensor left_to_right, right_to_left;  ///< [B, H, T, D]; the second undefined for one direction
    at::Tensor sum() const { return right_to_left.defined() ? left_to_right + right_to_left : left_to_right; }
  };
  Outputs forward(const at::Tensor& x, const SequenceLayout& layout,
                  nn::ActivationCheckpointing& checkpointing, RecurrentState& state) const;

 private:
  Mamba2MixerConfig config_;
  std::shared_ptr<MultiHeadMamba2> left_to_right_, right_to_left_;
};

class Mamba2Mixer : public Mixer, public nn::Recomputes {
 public:
  Mamba2Mixer(int64_t model_dim, const Mamba2MixerConfig& config);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) override;

 private:
  std::shared_ptr<Mamba2Directions> directions_;
  std::optional<HeadOutput> heads_;
  std::shared_ptr<nn::Linear> output_;
};

}  // namespace lact::recurrent
