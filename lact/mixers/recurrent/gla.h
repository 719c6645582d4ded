// Gated linear attention (Yang et al., 2023) over given q, k, v: every key channel forgets at a rate that the
// token chooses.
//   S_t = diag(e^{g_t}) S_{t-1} + k_t v_tᵀ,   o_t = K^{-1/2} S_tᵀ q_t,   g = logsigmoid(U (D x) + b) / 16
#pragma once

#include "lact/mixers/recurrent/core.h"

namespace lact::recurrent {

struct GlaConfig {
  int64_t num_heads = 8;
  int64_t gate_rank = 16;
  double gate_divisor = 16;
  bool both_ways = false;
  HeadOutputConfig output;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("num_heads", num_heads, "heads; the state of one is head width x head width");
    field("gate_rank", gate_rank, "rank of the projection that says what is forgotten");
    field("gate_divisor", gate_divisor,
          "the logarithm of the gate is divided by this: larger forgets slower");
    field("both_ways", both_ways, kBothWaysHelp);
    field("output", output, "norm and scale of what was read");
  }
  bool operator==(const GlaConfig&) const = default;
};

class Gla : public RecurrentCore {
 public:
  Gla(int64_t model_dim, const GlaConfig& config);

 private:
  Tokens prepare(const Projected& in, nn::ActivationCheckpointing& checkpointing) const override;
  Recurrence recurrence() const override;

  double gate_divisor_;
  std::shared_ptr<nn::Linear> gate_down_, gate_up_;
};

}  // namespace lact::recurrent
