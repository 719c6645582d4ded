// Mamba-2 in the paper's simplified form ("Details for Mamba Baselines") over given q, k, v, which are C, B
// and X: the step size δ of a token says how much of the state it replaces.
//   S_t = e^{-δ_t} S_{t-1} + δ_t k_t v_tᵀ,   o_t = S_tᵀ q_t,   δ = softplus(Linear(x) + shift), one per head
#pragma once

#include "lact/mixers/recurrent/core.h"

namespace lact::recurrent {

/// softplus(-4.6) = 0.01: at first, a state remembers some 100 tokens.
inline constexpr double kStepShift = -4.6;

struct Mamba2Config {
  int64_t num_heads = 12;
  double step_shift = kStepShift;
  bool both_ways = false;
  HeadOutputConfig output;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("num_heads", num_heads, "heads; the state of one is head width x head width");
    field("step_shift", step_shift, "added before the softplus that gives the step size of a token");
    field("both_ways", both_ways, kBothWaysHelp);
    field("output", output, "norm and scale of what was read");
  }
  bool operator==(const Mamba2Config&) const = default;
};

class Mamba2 : public RecurrentCore {
 public:
  Mamba2(int64_t model_dim, const Mamba2Config& config);

 private:
  Tokens prepare(const Projected& in, nn::ActivationCheckpointing& checkpointing) const override;
  Recurrence recurrence() const override;

  double step_shift_;
  std::shared_ptr<nn::Linear> step_;
};

/// q, k, v [B, T, H·D] and the step sizes before shift and softplus, [B, T, H] in float32 or wider, as the
/// recurrence gets them.
Tokens mamba2_tokens(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& steps,
                     double step_shift, nn::ActivationCheckpointing& checkpointing);

/// ops::ssd; the gate is the logarithm of the decay.
Recurrence mamba2_recurrence();

}  // namespace lact::recurrent
