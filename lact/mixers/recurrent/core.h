// What GLA, DeltaNet and Mamba-2 have in common as the core of a layer: a matrix per head that changes with
// every token, walked over the layout's stretches, then the norm and scale that LaCT's output gets too.
#pragma once

#include <optional>

#include "lact/mixers/head_output.h"
#include "lact/mixers/mixer.h"
#include "lact/mixers/recurrent/passage.h"
#include "lact/mixers/sharding.h"
#include "lact/nn/recompute.h"

namespace lact::recurrent {

/// Help of the option that every recurrence has.
inline constexpr const char* kBothWaysHelp =
    "passes over a set of tokens (views) from right to left as well, with a second state; text and video "
    "have "
    "an order and one direction";

/// S [B, H, K, V], float32, or float64 in a model of that type.
struct RecurrentState : State {
  at::Tensor memory;
  at::Tensor reverse;  ///< of the passage from right to left; undefined without one

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override { return std::make_unique<RecurrentState>(*this); }
};

/// An empty state of matrices [K, V], in at least float32 and on the device of `like`.
std::unique_ptr<RecurrentState> empty_state(int64_t batch, int64_t num_heads, int64_t key_dim,
                                            int64_t value_dim, bool both_ways, const at::Tensor& like);

/// Throws a sentence where two directions are asked of tokens that have an order.
void check_direction(const char* mixer, bool both_ways, const SequenceLayout& layout);

class RecurrentCore : public Core, public nn::Recomputes, public SharesHeads {
 public:
  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor mix(const Projected& in, const SequenceLayout& layout, State& state) override;
  int64_t shared_heads() const override { return num_heads_; }

 protected:
  /// `name` is for messages. Heads divide the model width; keys and values are equally wide.
  RecurrentCore(const char* name, int64_t model_dim, int64_t num_heads, bool both_ways);

  /// The last step of a derived constructor: parameters are in the order of their registration.
  void make_output(int64_t model_dim, const HeadOutputConfig& config);

  virtual Tokens prepare(const Projected& in, nn::ActivationCheckpointing& checkpointing) const = 0;
  virtual Recurrence recurrence() const = 0;

  int64_t num_heads() const { return num_heads_; }
  int64_t head_dim() const { return head_dim_; }

 private:
  const char* name_;
  int64_t num_heads_, head_dim_;
  bool both_ways_;
  std::optional<HeadOutput> output_;
};

}  // namespace lact::recurrent
