#include "lact/mixers/attention/window.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/token_buffer.h"
#include "lact/ops/attention/window_attention.h"

namespace lact::attention {

namespace {

using ops::CacheFormat;
using ops::KeptTokens;

void append(KeptTokens& kept, const KeptTokens& fresh) {
  append_tokens(kept.numbers, fresh.numbers, 1);
  if (fresh.scales.defined()) append_tokens(kept.scales, fresh.scales, 1);
}

void drop(KeptTokens& kept, int64_t count) {
  drop_tokens(kept.numbers, count, 1);
  if (kept.scales.defined()) drop_tokens(kept.scales, count, 1);
}

/// The format of a state is that of its first tokens: int8 has scales from the beginning.
CacheFormat format_of(const KeptTokens& kept, CacheFormat otherwise) {
  return kept.scales.defined() ? CacheFormat::int8 : otherwise;
}

at::Tensor followed_by(const KeptTokens& kept, const at::Tensor& fresh) {
  if (kept.count() == 0) return fresh;
  return at::cat({ops::widened(kept, fresh.scalar_type()), fresh}, 1);
}

}  // namespace

void AttentionState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.tokens(prefix + "k", k);
  visitor.tokens(prefix + "v", v);
  visitor.number(prefix + "first", first);
}

WindowAttention::WindowAttention(int64_t model_dim, const AttentionConfig& config)
    : heads_(*this, model_dim, config) {}

std::unique_ptr<State> WindowAttention::initial_state(int64_t batch) {
  auto state = std::make_unique<AttentionState>();
  const at::Tensor none = heads_.no_tokens(batch);
  state->k = state->v = cache_ == CacheFormat::int8 ? ops::keep(none, cache_) : KeptTokens{none, {}};
  return state;
}

at::Tensor WindowAttention::mix(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("window attention");
  auto& state = dynamic_cast<AttentionState&>(any_state);
  nn::ActivationCheckpointing checkpointing(checkpoint_activations_ && layout.keeps_nothing());
  const auto [q, k, v] = heads_.split(in, layout, checkpointing);

  int64_t first = layout.begin;
  if (state.k.count() > 0) {
    LACT_CHECK(state.first + state.k.count() == layout.begin,
               "[attention] the state ends at token {} but the piece begins at {}",
               state.first + state.k.count(), layout.begin);
    first = state.first;
  }
  const CacheFormat format = format_of(state.k, cache_);
  const KeptTokens fresh_k = ops::keep(k, format), fresh_v = ops::keep(v, format);
  at::Tensor out;
  if (fresh_k.numbers.scalar_type() != k.scalar_type() && k.size(1) > 1) {
    // Many tokens see each other as they are, and what was kept widened.
    out = ops::window_attention(q, followed_by(state.k, k), followed_by(state.v, v), layout.window,
                                layout.begin, first);
    append(state.k, fresh_k);
    append(state.v, fresh_v);
  } else {
    append(state.k, fresh_k);
    append(state.v, fresh_v);
    out = ops::kept_attention(q, state.k, state.v, layout.window, layout.begin, first);
  }
  checkpointing.free_until_backward_of(out);

  state.first = std::max(first, layout.keep_keys_from);
  drop(state.k, state.first - first);
  drop(state.v, state.first - first);
  return out.flatten(2);
}

void set_cache_below(torch::nn::Module& module, CacheFormat format) {
  if (auto* attention = dynamic_cast<WindowAttention*>(&module)) attention->set_cache(format);
  for (const auto& child : module.children()) set_cache_below(*child, format);
}

}  // namespace lact::attention
