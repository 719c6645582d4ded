#include "lact/mixers/attention/full.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"

namespace lact::attention {

namespace {

Range moved(Range range, int64_t by) { return {range.begin + by, range.end + by}; }

/// The window of full attention where `kept` written tokens come first and those of the layout follow.
ops::Window window_behind(const SequenceLayout& layout, int64_t kept) {
  const int64_t by = kept - layout.begin;
  SequenceLayout behind;
  behind.tokens = kept + layout.tokens;
  if (kept > 0) behind.schedule.push_back({ttt::Operation::update, {0, kept}});
  for (const auto& [operation, tokens] : layout.schedule)
    behind.schedule.push_back({operation, moved(tokens, by)});
  for (const auto& block : layout.window.blocks) {
    ops::AttentionBlock copy = {moved(block.queries, by), {}};
    for (const auto& visible : block.keys) copy.keys.push_back({moved(visible.range, by), visible.band});
    behind.window.blocks.push_back(std::move(copy));
  }
  return full_window(behind);
}

at::Tensor joined(const at::Tensor& kept, const at::Tensor& fresh) {
  return kept.size(1) == 0 ? fresh : at::cat({kept.to(fresh.scalar_type()), fresh}, 1);
}

}  // namespace

void FullState::visit(StateVisitor& visitor, const std::string& prefix) {
  visitor.tensor(prefix + "k", k, 1);
  visitor.tensor(prefix + "v", v, 1);
}

FullAttention::FullAttention(int64_t model_dim, const AttentionConfig& config)
    : heads_(*this, model_dim, config) {}

std::unique_ptr<State> FullAttention::initial_state(int64_t batch) {
  auto state = std::make_unique<FullState>();
  state->k = state->v = heads_.no_tokens(batch);
  return state;
}

at::Tensor FullAttention::attend(const HeadInputs& heads, const SequenceLayout& layout,
                                 const FullState& state) const {
  const int64_t kept = state.k.size(1);
  return ops::window_attention(heads.q, joined(state.k, heads.k), joined(state.v, heads.v),
                               window_behind(layout, kept), /*first_query=*/kept)
      .flatten(2);
}

at::Tensor FullAttention::mix(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("full attention");
  auto& state = dynamic_cast<FullState&>(any_state);
  nn::ActivationCheckpointing kept(false);  // the state keeps the keys
  const HeadInputs heads = heads_.split(in, layout, kept);
  const at::Tensor out = attend(heads, layout, state);
  for (const auto& [operation, tokens] : layout.schedule) {
    if (!ttt::updates(operation)) continue;
    state.k = joined(state.k, heads.k.slice(1, tokens.begin - layout.begin, tokens.end - layout.begin));
    state.v = joined(state.v, heads.v.slice(1, tokens.begin - layout.begin, tokens.end - layout.begin));
  }
  return out;
}

void FullAttention::collect(const Projected& in, const SequenceLayout& layout, State& any_state) {
  at::NoGradGuard no_grad;
  auto& state = dynamic_cast<FullState&>(any_state);
  nn::ActivationCheckpointing kept(false);
  const HeadInputs heads = heads_.split(in, layout, kept);
  // Copies: views would keep the other half of a projection in memory too.
  state.collected_k.push_back(heads.k.clone());
  state.collected_v.push_back(heads.v.clone());
}

void FullAttention::write_collected(State& any_state) {
  at::NoGradGuard no_grad;
  auto& state = dynamic_cast<FullState&>(any_state);
  LACT_CHECK(!state.collected_k.empty(), "[attention] nothing was collected, so there is nothing to write");
  const auto write = [](at::Tensor& kept, std::vector<at::Tensor>& pieces) {
    kept = joined(kept, at::cat(pieces, 1));
    pieces.clear();
  };
  write(state.k, state.collected_k);
  write(state.v, state.collected_v);
}

at::Tensor FullAttention::read(const Projected& in, const SequenceLayout& layout, const State& state) {
  const profile::Scope part("full attention");
  at::NoGradGuard no_grad;
  nn::ActivationCheckpointing kept(false);
  return attend(heads_.split(in, layout, kept), layout, dynamic_cast<const FullState&>(state));
}

}  // namespace lact::attention
