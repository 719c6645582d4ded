#include "lact/mixers/perceiver/layers.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/heads.h"
#include "lact/mixers/sharding.h"
#include "lact/ops/attention/window_attention.h"
#include "lact/ops/dispatch/dtypes.h"

namespace lact::perceiver {

namespace {

/// The tokens that the layout writes, all of its writes together; undefined if it writes none.
at::Tensor written_tokens(const at::Tensor& x, const SequenceLayout& layout) {
  std::vector<at::Tensor> written;
  for (const auto& [operation, tokens] : layout.schedule) {
    if (ttt::updates(operation))
      written.push_back(x.slice(1, tokens.begin - layout.begin, tokens.end - layout.begin));
  }
  if (written.empty()) return {};
  return written.size() == 1 ? written[0] : at::cat(written, 1);
}

}  // namespace

RegisterAttention::RegisterAttention(int64_t model_dim, const LayerOptions& options)
    : num_heads_(options.num_heads) {
  LACT_CHECK(options.projection.conv_width == 0,
             "[perceiver] conv_width is {}, expected 0: a set has no order", options.projection.conv_width);
  projection_ = register_module("projection", std::make_shared<Projection>(model_dim, options.projection));
  const int64_t head_dim = head_width(model_dim, options.num_heads);
  if (!options.head_norm) return;
  const nn::NormOptions norm = {nn::NormKind::rms, options.head_norm_epsilon};
  q_norm_ = register_module("q_norm", std::make_shared<nn::Norm>(head_dim, norm));
  k_norm_ = register_module("k_norm", std::make_shared<nn::Norm>(head_dim, norm));
}

at::Tensor RegisterAttention::queries(const at::Tensor& x) const {
  const at::Tensor q = split_heads(projection_->queries(x).q, num_heads_);
  return q_norm_ ? q_norm_->forward(q) : q;
}

RegisterAttention::KeysAndValues RegisterAttention::keys_and_values(const at::Tensor& x) const {
  const Projected in = projection_->keys_and_values(x);
  const at::Tensor k = split_heads(in.k, num_heads_);
  return {k_norm_ ? k_norm_->forward(k) : k, split_heads(in.v, num_heads_)};
}

at::Tensor RegisterAttention::attend(const at::Tensor& q, const KeysAndValues& seen) const {
  const ops::Window all = {{{{0, q.size(1)}, {{{0, seen.k.size(1)}}}}}};
  return ops::window_attention(q, seen.k, seen.v, all).flatten(2);
}

ReadingLayer::ReadingLayer(int64_t model_dim, const LayerOptions& options,
                           std::shared_ptr<const Registers> initial)
    : initial_(std::move(initial)),
      attention_(register_module("attention", std::make_shared<RegisterAttention>(model_dim, options))),
      norm_(register_module("register_norm", std::make_shared<nn::Norm>(model_dim, options.norm))),
      feed_forward_norm_(
          register_module("feed_forward_norm", std::make_shared<nn::Norm>(model_dim, options.norm))),
      feed_forward_(register_module("feed_forward",
                                    std::make_shared<nn::FeedForward>(model_dim, options.feed_forward))) {}

at::Tensor ReadingLayer::improved(const at::Tensor& registers, const at::Tensor& attended) const {
  const at::Tensor seen = registers + attention_->out(attended);
  return seen + feed_forward_->forward(feed_forward_norm_->forward(seen));
}

at::Tensor ReadingLayer::advance(const at::Tensor& x, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("register attention");
  check_tokens(x, layout);
  auto& state = dynamic_cast<RegisterState&>(any_state);
  // Of a sequence that is shared out, every rank has the registers, and they see the tokens of all.
  const at::Tensor written = layout.sharding
                                 ? written_tokens(layout.sharding->put_together(x), layout.sharding->whole())
                                 : written_tokens(x, layout);
  if (!written.defined()) return {};
  const at::Tensor registers = state.registers.to(x.scalar_type());
  const at::Tensor normed = norm_->forward(registers);
  const auto seen = attention_->keys_and_values(at::cat({written, normed}, 1));
  state.registers = improved(registers, attention_->attend(attention_->queries(normed), seen));
  return {};
}

void ReadingLayer::collect(const at::Tensor& x, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("register attention");
  at::NoGradGuard no_grad;
  check_tokens(x, layout);
  auto& state = dynamic_cast<RegisterState&>(any_state);
  if (!state.queries.defined())
    state.queries = attention_->queries(norm_->forward(state.registers.to(x.scalar_type())));
  const auto [k, v] = attention_->keys_and_values(x);
  ops::add_attention(state.collected, state.queries, k, v);
}

void ReadingLayer::write_collected(State& any_state, const parallel::Group& ranks) {
  const profile::Scope part("register attention");
  at::NoGradGuard no_grad;
  auto& state = dynamic_cast<RegisterState&>(any_state);
  LACT_CHECK(state.queries.defined(), "[perceiver] nothing was collected, so there is nothing to write");
  if (!ranks.alone()) {
    const at::Tensor outs = ranks.gather(state.collected.out, "gathering what registers saw"),
                     sums = ranks.gather(state.collected.log_sums, "gathering what registers saw");
    state.collected = {outs[0], sums[0]};
    for (int64_t rank = 1; rank < ranks.size(); ++rank) ops::join(state.collected, {outs[rank], sums[rank]});
  }
  const at::ScalarType type = state.queries.scalar_type();
  const at::Tensor registers = state.registers.to(type);
  const auto [k, v] = attention_->keys_and_values(norm_->forward(registers));
  ops::add_attention(state.collected, state.queries, k, v);
  // Kept wide, as a scene file has them, whatever a model computes in.
  state.registers = ops::at_least_float(improved(registers, state.collected.out.flatten(2).to(type)));
  state.queries = at::Tensor();
  state.collected = {};
}

LookingLayer::LookingLayer(int64_t model_dim, const LayerOptions& options,
                           std::shared_ptr<const Registers> initial)
    : initial_(std::move(initial)),
      attention_(register_module("attention", std::make_shared<RegisterAttention>(model_dim, options))),
      norm_(register_module("register_norm", std::make_shared<nn::Norm>(model_dim, options.norm))) {}

at::Tensor LookingLayer::advance(const at::Tensor& x, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("register attention");
  check_tokens(x, layout);
  const auto& state = dynamic_cast<RegisterState&>(any_state);
  const auto seen = attention_->keys_and_values(norm_->forward(state.registers.to(x.scalar_type())));
  return attention_->out(attention_->attend(attention_->queries(x), seen));
}

}  // namespace lact::perceiver
