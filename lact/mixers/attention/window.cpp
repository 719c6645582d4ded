#include "lact/mixers/attention/window.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/attention/sharded.h"

namespace lact::attention {

void AttentionState::visit(StateVisitor& visitor, const std::string& prefix) {
  visit_tokens(visitor, prefix);
  visitor.number(prefix + "first", first);
}

WindowAttention::WindowAttention(int64_t model_dim, const AttentionConfig& config)
    : heads_(*this, model_dim, config) {}

std::unique_ptr<State> WindowAttention::initial_state(int64_t batch) {
  auto state = std::make_unique<AttentionState>();
  begin(*state, heads_.no_tokens(batch));
  return state;
}

at::Tensor WindowAttention::mix(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("window attention");
  auto& state = dynamic_cast<AttentionState&>(any_state);
  nn::ActivationCheckpointing checkpointing(checkpoint_activations_ && layout.keeps_nothing());
  const HeadInputs heads = heads_.split(in, layout, checkpointing);
  if (layout.sharding) {
    const SequenceLayout& whole = layout.sharding->whole();
    const at::Tensor out = sharded_attention(heads, whole.window, *layout.sharding, state, format_of(state),
                                             whole.keep_keys_from);
    checkpointing.free_until_backward_of(out);
    state.first = whole.end() - state.count();
    return out.flatten(2);
  }

  int64_t first = layout.begin;
  if (state.count() > 0) {
    LACT_CHECK(state.first + state.count() == layout.begin,
               "[attention] the state ends at token {} but the piece begins at {}",
               state.first + state.count(), layout.begin);
    first = state.first;
  }
  const at::Tensor out = state.append_and_attend(heads, format_of(state), layout.window, layout.begin, first);
  checkpointing.free_until_backward_of(out);

  state.first = std::max(first, layout.keep_keys_from);
  state.drop(state.first - first);
  return out.flatten(2);
}

}  // namespace lact::attention
