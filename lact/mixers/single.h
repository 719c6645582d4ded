// A layer of one core between its projections: the LaCT layer of algorithm 1, or attention alone.
#pragma once

#include "lact/mixers/projection.h"

namespace lact {

/// With a convolution in the projection; otherwise the state is the core's.
struct ConvolvedState : State, WithTail {
  std::unique_ptr<State> core;

  void visit(StateVisitor& visitor, const std::string& prefix) override;
  std::unique_ptr<State> clone() const override;
  int64_t forgettable() const override { return std::min(core->forgettable(), tail.forgettable()); }
  void forget_last(int64_t tokens) override;
};

class SingleMixer : public SetMixer {
 public:
  SingleMixer(int64_t model_dim, const ProjectionConfig& projection, std::shared_ptr<Core> core);

  std::unique_ptr<State> initial_state(int64_t batch) override;
  at::Tensor advance(const at::Tensor& x, const SequenceLayout& layout, State& state) override;
  at::Tensor advance_together(const at::Tensor& x, std::span<const SequencePiece> pieces) override;

  /// With a SetCore, and without convolution.
  bool takes_pieces() const override;
  void collect(const at::Tensor& x, const SequenceLayout& layout, State& state) override;
  void write_collected(State& state, const parallel::Group& ranks = {}) override;
  at::Tensor read(const at::Tensor& x, const SequenceLayout& layout, const State& state) override;

 private:
  SetCore& set_core() const;

  std::shared_ptr<Projection> projection_;
  std::shared_ptr<Core> core_;
};

}  // namespace lact
