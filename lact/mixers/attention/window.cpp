#include "lact/mixers/attention/window.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/token_buffer.h"
#include "lact/ops/attention/window_attention.h"

namespace lact::attention {

void AttentionState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.tensor(prefix + "k", k, 1);
  visitor.tensor(prefix + "v", v, 1);
  visitor.number(prefix + "first", first);
}

WindowAttention::WindowAttention(int64_t model_dim, const AttentionConfig& config)
    : heads_(*this, model_dim, config) {}

std::unique_ptr<State> WindowAttention::initial_state(int64_t batch) {
  auto state = std::make_unique<AttentionState>();
  state->k = state->v = heads_.no_tokens(batch);
  return state;
}

at::Tensor WindowAttention::mix(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("window attention");
  auto& state = dynamic_cast<AttentionState&>(any_state);
  nn::ActivationCheckpointing checkpointing(checkpoint_activations_ && layout.keeps_nothing());
  auto [q, k, v] = heads_.split(in, layout, checkpointing);

  int64_t first = layout.begin;
  if (state.k.size(1) > 0) {
    LACT_CHECK(state.first + state.k.size(1) == layout.begin,
               "[attention] the state ends at token {} but the piece begins at {}",
               state.first + state.k.size(1), layout.begin);
    first = state.first;
  }
  k = append_tokens(state.k, k, 1);
  v = append_tokens(state.v, v, 1);
  const at::Tensor out = ops::window_attention(q, k, v, layout.window, layout.begin, first);
  checkpointing.free_until_backward_of(out);

  state.first = std::max(first, layout.keep_keys_from);
  drop_tokens(state.k, state.first - first, 1);
  drop_tokens(state.v, state.first - first, 1);
  return out.flatten(2);
}

}  // namespace lact::attention
