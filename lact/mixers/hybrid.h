// The in-layer hybrid of algorithm 2: window attention and another core (LaCT, or a baseline's recurrence)
// over shared q, k, v; their outputs are added before the output projection.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "lact/mixers/attention/window.h"
#include "lact/mixers/projection.h"
#include "lact/nn/recompute.h"

namespace lact {

/// Which of the two gets its own copy of q and k, scaled and shifted per channel by learned vectors.
/// memory: the authors' language model and video. attention: the paper's algorithm 2.
enum class Rescaled { memory, attention, none };
constexpr std::array<std::pair<Rescaled, std::string_view>, 3> enum_names(Rescaled) {
  return {{{Rescaled::memory, "memory"}, {Rescaled::attention, "attention"}, {Rescaled::none, "none"}}};
}

struct HybridState : State, WithTail {
  std::unique_ptr<State> attention, memory;  ///< memory is empty where the mixer has none

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override;
  int64_t forgettable() const override;
  void forget_last(int64_t tokens) override;
};

class HybridMixer : public Mixer, public nn::Recomputes {
 public:
  /// Without a `memory` this is window attention alone, and nothing is rescaled.
  HybridMixer(int64_t model_dim, const ProjectionConfig& projection,
              const attention::AttentionConfig& attention, std::shared_ptr<Core> memory, Rescaled rescaled);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) override;
  at::Tensor advance_together(const at::Tensor& x, std::span<const SequencePiece> pieces) override;

 private:
  Projected rescale(const Projected& in, nn::ActivationCheckpointing& checkpointing) const;

  Rescaled rescaled_;
  std::shared_ptr<Projection> projection_;
  std::shared_ptr<attention::WindowAttention> attention_;
  std::shared_ptr<Core> memory_;    ///< null: window attention alone
  at::Tensor qk_scale_, qk_shift_;  ///< [2, M]: row 0 for q, row 1 for k
};

}  // namespace lact
