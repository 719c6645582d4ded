// The full Mamba-2 block (Dao and Gu, 2024), as Long-LRM has it: convolution, gate, learned decay and skip,
// gated norm; one direction or both.
//   [z, x, B, C, δ] = Linear(u);  [x, B, C] = silu(conv([x, B, C]));  δ = softplus(δ + bias)
//   H_t = e^{-a δ_t} H_{t-1} + δ_t B_t x_tᵀ;  y_t = H_tᵀ C_t + D x_t;  out = Linear(RMSNorm(y ∘ silu(z)))
// B and C serve all heads. Both directions share the two projections, nothing else; their y are added.
#pragma once

#include <vector>

#include "lact/mixers/mixer.h"
#include "lact/mixers/recurrent/passage.h"
#include "lact/nn/linear.h"
#include "lact/nn/norm.h"

namespace lact::recurrent {

struct Mamba2BlockConfig {
  int64_t state_dim = 256;
  int64_t head_dim = 64;
  int64_t expand = 2;
  int64_t conv_width = 4;
  double norm_epsilon = 1e-5;
  bool both_ways = false;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("state_dim", state_dim, "width of B and C: the state of a head is state_dim x head_dim");
    field("head_dim", head_dim, "width of a head");
    field("expand", expand, "width of all heads / model width");
    field("conv_width", conv_width, "tokens that the convolution sees");
    field("norm_epsilon", norm_epsilon, "epsilon of the gated norm");
    field("both_ways", both_ways, "a second scan from right to left over sets of tokens (views)");
  }
  bool operator==(const Mamba2BlockConfig&) const = default;
};

/// Of every scan: the inputs that the convolution still sees [B, conv_width - 1, channels], and
/// S [B, H, state_dim, head_dim].
struct Mamba2BlockState : State {
  struct Scan {
    at::Tensor tail, memory;
  };
  std::vector<Scan> scans;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<Mamba2BlockState>(*this); }
};

/// What one direction has of its own.
class Mamba2Scan : public torch::nn::Module {
 public:
  Mamba2Scan(int64_t num_heads, const Mamba2BlockConfig& config);

  Mamba2BlockState::Scan initial_state(int64_t batch) const;

  /// z [B, T, H·D], xbc [B, T, H·D + 2 state_dim], steps [B, T, H] -> the normed y [B, T, H·D]
  at::Tensor forward(const at::Tensor& z, const at::Tensor& xbc, const at::Tensor& steps,
                     const SequenceLayout& layout, Direction direction, Mamba2BlockState::Scan& state) const;

 private:
  /// Tokens that follow each other, from `state` on: [B, H, T, D].
  at::Tensor run(const at::Tensor& xbc, const at::Tensor& steps, Mamba2BlockState::Scan& state) const;

  int64_t num_heads_, head_dim_, state_dim_;
  at::Tensor conv_weight_, conv_bias_;       ///< [channels, conv_width], [channels]
  at::Tensor step_bias_, decay_log_, skip_;  ///< [H] each: of δ, log a, D
  std::shared_ptr<nn::Norm> norm_;
};

class Mamba2Block : public Mixer {
 public:
  Mamba2Block(int64_t model_dim, const Mamba2BlockConfig& config);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) override;

 private:
  int64_t inner_dim_, state_dim_, num_heads_;
  std::shared_ptr<nn::Linear> input_, output_;  ///< rows of `input_`: [z; x; B; C; δ]
  std::vector<std::shared_ptr<Mamba2Scan>> scans_;
};

/// x + block(RMSNorm(x)): a whole layer of Long-LRM.
class ResidualMamba2Block : public Mixer {
 public:
  ResidualMamba2Block(int64_t model_dim, const Mamba2BlockConfig& config, double norm_epsilon);

  std::unique_ptr<State> initial_state(int64_t batch) override { return block_->initial_state(batch); }
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) override {
    return x + block_->advance(norm_->forward(x), layout, state);
  }

 private:
  std::shared_ptr<nn::Norm> norm_;
  std::shared_ptr<Mamba2Block> block_;
};

}  // namespace lact::recurrent
