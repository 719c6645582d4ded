#include "lact/mixers/attention/window.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/heads.h"
#include "lact/mixers/token_buffer.h"
#include "lact/ops/window_attention.h"

namespace lact::attention {

void AttentionState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.tensor(prefix + "k", k, 1);
  visitor.tensor(prefix + "v", v, 1);
  visitor.number(prefix + "first", first);
}

WindowAttention::WindowAttention(int64_t model_dim, const AttentionConfig& config)
    : config_(config), head_dim_(head_width(model_dim, config.num_heads)) {
  if (config.head_norm) {
    const nn::NormOptions options = {nn::NormKind::rms, config.head_norm_epsilon};
    q_norm_ = register_module("q_norm", std::make_shared<nn::Norm>(head_dim_, options));
    k_norm_ = register_module("k_norm", std::make_shared<nn::Norm>(head_dim_, options));
  }
}

std::unique_ptr<State> WindowAttention::initial_state(int64_t batch) {
  auto state = std::make_unique<AttentionState>();
  state->k = state->v = at::empty({batch, 0, config_.num_heads, head_dim_});
  return state;
}

at::Tensor WindowAttention::mix(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("window attention");
  auto& state = dynamic_cast<AttentionState&>(any_state);
  at::Tensor q = split_heads(in.q, config_.num_heads);
  at::Tensor k = split_heads(in.k, config_.num_heads);
  at::Tensor v = split_heads(in.v, config_.num_heads);
  if (config_.head_norm) q = q_norm_->forward(q), k = k_norm_->forward(k);
  if (config_.rope) {
    const auto table = layout.rope_table(q.size(3), *config_.rope, q.device());
    q = ops::rope(q, table, config_.rope->pairs);
    k = ops::rope(k, table, config_.rope->pairs);
  }

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

  state.first = std::max(first, layout.keep_keys_from);
  drop_tokens(state.k, state.first - first, 1);
  drop_tokens(state.v, state.first - first, 1);
  return out.flatten(2);
}

}  // namespace lact::attention
