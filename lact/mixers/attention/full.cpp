#include "lact/mixers/attention/full.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/attention/sharded.h"

namespace lact::attention {

namespace {

/// What is kept stands right before the piece. The tokens of a set have no place.
int64_t first_kept(const SequenceLayout& layout, const KeyValueCache& kept) {
  LACT_CHECK(layout.unordered || kept.count() == layout.begin,
             "[attention] the state ends at token {} but the piece begins at {}", kept.count(), layout.begin);
  return layout.begin - kept.count();
}

/// Out of the positions of the layout.
at::Tensor rows(const at::Tensor& x, const SequenceLayout& layout, Range tokens) {
  return x.slice(1, tokens.begin - layout.begin, tokens.end - layout.begin);
}

}  // namespace

void FullState::visit(StateVisitor& visitor, const std::string& prefix) { visit_tokens(visitor, prefix); }

FullAttention::FullAttention(int64_t model_dim, const AttentionConfig& config)
    : heads_(*this, model_dim, config) {}

std::unique_ptr<State> FullAttention::initial_state(int64_t batch) {
  auto state = std::make_unique<FullState>();
  begin(*state, heads_.no_tokens(batch));
  return state;
}

HeadInputs FullAttention::split(const Projected& in, const SequenceLayout& layout) const {
  nn::ActivationCheckpointing none(false);  // the state keeps the keys
  return heads_.split(in, layout, none);
}

at::Tensor FullAttention::mix(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("full attention");
  auto& state = dynamic_cast<FullState&>(any_state);
  const HeadInputs heads = split(in, layout);
  if (layout.sharding) {
    const SequenceLayout& whole = layout.sharding->whole();
    // A text that goes on keeps all of it; a whole sequence ends here.
    const int64_t keep_from = whole.keeps_nothing() ? whole.end() : 0;
    return sharded_attention(heads, full_window(whole, state.count()), *layout.sharding, state,
                             format_of(state), keep_from)
        .flatten(2);
  }
  const int64_t first = first_kept(layout, state);
  const ops::Window window = full_window(layout, state.count());
  const auto format = format_of(state);
  const auto& stretches = layout.stretches;
  if (stretches.size() == 1 && stretches.front().passage == Passage::remembered) {
    return state.append_and_attend(heads, format, window, layout.begin, first).flatten(2);
  }
  const at::Tensor out = state.attend(heads, window, layout.begin, first);
  for (const auto& [tokens, passage] : stretches) {
    if (passage != Passage::remembered) continue;
    state.append(rows(heads.k, layout, tokens), rows(heads.v, layout, tokens), format);
  }
  return out.flatten(2);
}

void FullAttention::collect(const Projected& in, const SequenceLayout& layout, State& any_state) {
  at::NoGradGuard no_grad;
  auto& state = dynamic_cast<FullState&>(any_state);
  const HeadInputs heads = split(in, layout);
  // Copies: views would keep the other half of a projection in memory too.
  state.collected_k.push_back(heads.k.clone());
  state.collected_v.push_back(heads.v.clone());
}

void FullAttention::write_collected(State& any_state, const parallel::Group& ranks) {
  at::NoGradGuard no_grad;
  auto& state = dynamic_cast<FullState&>(any_state);
  LACT_CHECK(!state.collected_k.empty() || !ranks.alone(),
             "[attention] nothing was collected, so there is nothing to write");
  const auto all = [&](const std::vector<at::Tensor>& collected) {
    const at::Tensor own =
        collected.empty() ? heads_.no_tokens(state.k.numbers.size(0)) : at::cat(collected, 1);
    return ranks.gather_rows(own.transpose(0, 1), "gathering keys and values").transpose(0, 1);
  };
  state.append(all(state.collected_k), all(state.collected_v), format_of(state));
  state.collected_k.clear();
  state.collected_v.clear();
}

at::Tensor FullAttention::read(const Projected& in, const SequenceLayout& layout, const State& any_state) {
  const profile::Scope part("full attention");
  at::NoGradGuard no_grad;
  const auto& state = dynamic_cast<const FullState&>(any_state);
  return state
      .attend(split(in, layout), full_window(layout, state.count()), layout.begin, first_kept(layout, state))
      .flatten(2);
}

}  // namespace lact::attention
