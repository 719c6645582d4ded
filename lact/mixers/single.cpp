#include "lact/mixers/single.h"

#include "lact/base/error.h"

namespace lact {

void ConvolvedState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.tensor(prefix + "tail", tail.rows, 1);
  core->visit(visitor, prefix);
}

std::unique_ptr<State> ConvolvedState::clone() const {
  auto copy = std::make_unique<ConvolvedState>();
  copy->tail = tail;
  copy->core = core->clone();
  return copy;
}

void ConvolvedState::forget_last(int64_t tokens) {
  core->forget_last(tokens);
  tail.forget_last(tokens);
}

SingleMixer::SingleMixer(int64_t model_dim, const ProjectionConfig& projection, std::shared_ptr<Core> core)
    : projection_(register_module("projection", std::make_shared<Projection>(model_dim, projection))),
      core_(register_module("core", std::move(core))) {}

std::unique_ptr<State> SingleMixer::initial_state(int64_t batch) {
  auto state = std::make_unique<ConvolvedState>();
  state->tail = projection_->initial_tail(batch);
  state->core = core_->initial_state(batch);
  if (!state->tail.rows.defined()) return std::move(state->core);
  return state;
}

at::Tensor SingleMixer::advance(const at::Tensor& x, const SequenceLayout& layout, State& state) {
  const SequencePiece whole = {&layout, &state};
  return advance_together(x, {&whole, 1});
}

at::Tensor SingleMixer::advance_together(const at::Tensor& x, std::span<const SequencePiece> pieces) {
  check_tokens(x, pieces);
  const auto in = cut(projection_->in(x, pieces), pieces);
  return projection_->out(by_piece(pieces, x, [&](size_t i) {
    auto* convolved = dynamic_cast<ConvolvedState*>(pieces[i].state);
    return mix(*core_, in[i], *pieces[i].layout, convolved ? *convolved->core : *pieces[i].state);
  }));
}

bool SingleMixer::takes_pieces() const { return dynamic_cast<const SetCore*>(core_.get()) != nullptr; }

SetCore& SingleMixer::set_core() const {
  auto* core = dynamic_cast<SetCore*>(core_.get());
  LACT_ASSERT(core != nullptr);
  return *core;
}

void SingleMixer::collect(const at::Tensor& x, const SequenceLayout& layout, State& state) {
  check_tokens(x, layout);
  set_core().collect(projection_->keys_and_values(x), layout, state);
}

void SingleMixer::write_collected(State& state, const parallel::Group& ranks) {
  set_core().write_collected(state, ranks);
}

at::Tensor SingleMixer::read(const at::Tensor& x, const SequenceLayout& layout, const State& state) {
  check_tokens(x, layout);
  SetCore& core = set_core();
  const Projected in = core.sees_itself() ? projection_->in(x) : projection_->queries(x);
  return projection_->out(core.read(in, layout, state));
}

}  // namespace lact
