#include "lact/mixers/hybrid.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/ops/norms/norms.h"

namespace lact {

void HybridState::visit(StateVisitor& visitor, const std::string& prefix) {
  if (tail.rows.defined()) visitor.tensor(prefix + "tail", tail.rows, 1);
  attention->visit(visitor, prefix + "attention.");
  if (memory) memory->visit(visitor, prefix + "memory.");
}

std::unique_ptr<State> HybridState::clone() const {
  auto copy = std::make_unique<HybridState>();
  copy->tail = tail;
  copy->attention = attention->clone();
  if (memory) copy->memory = memory->clone();
  return copy;
}

int64_t HybridState::forgettable() const {
  int64_t tokens = attention->forgettable();
  if (memory) tokens = std::min(tokens, memory->forgettable());
  return tail.rows.defined() ? std::min(tokens, tail.forgettable()) : tokens;
}

void HybridState::forget_last(int64_t tokens) {
  attention->forget_last(tokens);
  if (memory) memory->forget_last(tokens);
  if (tail.rows.defined()) tail.forget_last(tokens);
}

HybridMixer::HybridMixer(int64_t model_dim, const ProjectionConfig& projection,
                         const attention::AttentionConfig& attention, std::shared_ptr<Core> memory,
                         Rescaled rescaled)
    : rescaled_(memory ? rescaled : Rescaled::none),
      projection_(register_module("projection", std::make_shared<Projection>(model_dim, projection))),
      attention_(
          register_module("attention", std::make_shared<attention::WindowAttention>(model_dim, attention))),
      memory_(std::move(memory)) {
  if (memory_) register_module("memory", memory_);
  if (rescaled_ == Rescaled::none) return;
  qk_scale_ = register_parameter("qk_scale", at::ones({2, model_dim}));
  qk_shift_ = register_parameter("qk_shift", at::zeros({2, model_dim}));
}

std::unique_ptr<State> HybridMixer::initial_state(int64_t batch) {
  auto state = std::make_unique<HybridState>();
  state->tail = projection_->initial_tail(batch);
  state->attention = attention_->initial_state(batch);
  if (memory_) state->memory = memory_->initial_state(batch);
  return state;
}

Projected HybridMixer::rescale(const Projected& in, nn::ActivationCheckpointing& checkpointing) const {
  const auto rescaled = [&](int64_t row, const at::Tensor& x) {
    const auto run = [row, scale = qk_scale_, shift = qk_shift_](const std::vector<at::Tensor>& in) {
      return ops::scale_shift(in[0], scale[row], shift[row]);
    };
    return checkpointing.run(run, {x});
  };
  return {in.x, rescaled(0, in.q), rescaled(1, in.k), in.v};
}

at::Tensor HybridMixer::advance(const at::Tensor& x, const SequenceLayout& layout, State& state) {
  const SequencePiece whole = {&layout, &state};
  return advance_together(x, {&whole, 1});
}

at::Tensor HybridMixer::advance_together(const at::Tensor& x, std::span<const SequencePiece> pieces) {
  check_tokens(x, pieces);
  const Projected raw = projection_->in(x, pieces);
  const bool ends = pieces.size() == 1 && pieces[0].layout->keeps_nothing();
  nn::ActivationCheckpointing checkpointing(checkpoint_activations_ && ends);
  const Projected rescaled = rescaled_ == Rescaled::none ? raw : rescale(raw, checkpointing);
  const auto for_attention = cut(rescaled_ == Rescaled::attention ? rescaled : raw, pieces);
  const auto for_memory = cut(rescaled_ == Rescaled::memory ? rescaled : raw, pieces);
  const at::Tensor mixed = by_piece(pieces, x, [&](size_t i) {
    const SequenceLayout& layout = *pieces[i].layout;
    auto& state = dynamic_cast<HybridState&>(*pieces[i].state);
    const at::Tensor local = mix(*attention_, for_attention[i], layout, *state.attention);
    return memory_ ? local + mix(*memory_, for_memory[i], layout, *state.memory) : local;
  });
  const at::Tensor out = projection_->out(mixed);
  checkpointing.free_until_backward_of(out);
  return out;
}

}  // namespace lact
