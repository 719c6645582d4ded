// A fixed number of learned vectors, the registers, that stand for everything a Perceiver has read. They are
// its whole memory: layers that read improve them one after the other, layers that look see them alone.
#pragma once

#include "lact/mixers/mixer.h"
#include "lact/ops/attention/attention_sum.h"

namespace lact::perceiver {

struct PerceiverConfig {
  int64_t registers = 4096;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("registers", registers, "learned vectors that the input is read into");
  }
  bool operator==(const PerceiverConfig&) const = default;
};

struct RegisterState : State {
  at::Tensor registers;  ///< [B, R, M]

  /// Of a write that is under way; not part of what is visited.
  at::Tensor queries;  ///< [B, R, H, D]
  ops::AttentionSum collected;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<RegisterState>(*this); }
};

/// The learned registers that every sequence begins with. One module belongs to all layers of a model.
class Registers : public torch::nn::Module {
 public:
  Registers(int64_t model_dim, const PerceiverConfig& config);

  /// [B, R, M]
  at::Tensor forward(int64_t batch) const;
  std::unique_ptr<State> initial_state(int64_t batch) const;

  at::Tensor values;  ///< [R, M]
};

}  // namespace lact::perceiver
