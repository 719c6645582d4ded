// DeltaNet (Schlag et al., 2021; Yang et al., 2024) over given q, k, v: what the state says of a key is
// replaced by the value, to the share beta that the token chooses.
//   S_t = S_{t-1} + β_t k_t (v_t - S_{t-1}ᵀ k_t)ᵀ,   o_t = K^{-1/2} S_tᵀ q_t,   β = sigmoid(Linear(x))
// with q and k of length 1 after SiLU.
#pragma once

#include "lact/mixers/recurrent/core.h"

namespace lact::recurrent {

struct DeltaNetConfig {
  int64_t num_heads = 24;
  bool silu_v = true;
  bool negative_eigenvalues = false;
  double l2_epsilon = 1e-6;
  bool both_ways = false;
  HeadOutputConfig output;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("num_heads", num_heads, "heads; the state of one is head width x head width");
    field("silu_v", silu_v, "SiLU on the values, as q and k always have it");
    field("negative_eigenvalues", negative_eigenvalues,
          "beta is 2 sigmoid instead of sigmoid: a token may turn what the state says of its key around");
    field("l2_epsilon", l2_epsilon, "added to the norm of q and k");
    field("both_ways", both_ways, kBothWaysHelp);
    field("output", output, "norm and scale of what was read");
  }
  bool operator==(const DeltaNetConfig&) const = default;
};

class DeltaNet : public RecurrentCore {
 public:
  DeltaNet(int64_t model_dim, const DeltaNetConfig& config);

 private:
  Tokens prepare(const Projected& in, nn::ActivationCheckpointing& checkpointing) const override;
  Recurrence recurrence() const override;

  DeltaNetConfig config_;
  std::shared_ptr<nn::Linear> beta_;
};

}  // namespace lact::recurrent
