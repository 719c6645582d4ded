#include "lact/mixers/lact/lact.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/mixers/heads.h"
#include "lact/mixers/lact/sharded_scan.h"
#include "lact/mixers/token_buffer.h"
#include "lact/ops/activations/activations.h"
#include "lact/ops/norms/norms.h"

namespace lact::ttt {

namespace {

/// The x with softplus(x) = y.
double inverse_softplus(double y) { return y + std::log(-std::expm1(-y)); }

/// Adds the tokens of the inputs to those that the state kept, and lets the inputs be all of them.
void join(LactState& state, ScanInputs& inputs) {
  if (const int64_t kept = state.k.size(2); kept > 0) {
    LACT_CHECK(state.first + kept == inputs.first_query,
               "[lact] the state ends at token {} but the piece begins at {}", state.first + kept,
               inputs.first_query);
    inputs.first_key = state.first;
  }
  inputs.k = append_tokens(state.k, inputs.k, 2);
  inputs.v = append_tokens(state.v, inputs.v, 2);
  for (size_t i = 0; i < inputs.rates.size(); ++i) {
    if (inputs.rates[i].defined()) inputs.rates[i] = append_tokens(state.rates[i], inputs.rates[i], 2);
  }
  if (inputs.beta.defined()) inputs.beta = append_tokens(state.beta, inputs.beta, 2);
}

/// `drop` is of the first or of the last tokens.
void drop_pending(LactState& state, int64_t count, void (*drop)(at::Tensor&, int64_t, int64_t)) {
  drop(state.k, count, 2);
  drop(state.v, count, 2);
  for (auto& rate : state.rates) {
    if (rate.defined()) drop(rate, count, 2);
  }
  if (state.beta.defined()) drop(state.beta, count, 2);
}

/// Keeps the tokens from position `first` on, which later pieces will write.
void keep(LactState& state, int64_t first_key, int64_t first) {
  state.first = std::max(first, first_key);
  drop_pending(state, state.first - first_key, drop_tokens);
}

}  // namespace

void LactState::visit(StateVisitor& visitor, const std::string& prefix) {
  const auto each = [&](const std::string& name, Matrices& matrices, int64_t token_dim) {
    for (size_t i = 0; i < matrices.size(); ++i) {
      if (!matrices[i].defined()) continue;
      visitor.tensor(fmt::format("{}{}{}", prefix, name, i), matrices[i], token_dim);
    }
  };
  each("weights", memory.weights, -1);
  each("initial_norms", memory.initial_norms, -1);
  each("momentum", memory.momentum, -1);
  each("accumulated", memory.accumulated, -1);
  each("anchor", memory.anchor, -1);
  each("importance", memory.importance, -1);
  visitor.tensor(prefix + "k", k, 2);
  visitor.tensor(prefix + "v", v, 2);
  each("rates", rates, 2);
  if (beta.defined()) visitor.tensor(prefix + "beta", beta, 2);
  visitor.number(prefix + "first", first);
}

void LactState::forget_last(int64_t tokens) { drop_pending(*this, tokens, drop_last_tokens); }

Lact::Lact(int64_t model_dim, const LactConfig& config)
    : config_(config),
      head_dim_(head_width(model_dim, config.num_heads)),
      rule_{network(config.network), loss(config.loss), config.update} {
  LACT_CHECK(config.base_rate > 0, "[lact] base_rate is {}, expected a positive number", config.base_rate);
  const auto hidden = int64_t(double(head_dim_) * config.hidden_multiple);
  LACT_CHECK(hidden > 0, "[lact] hidden_multiple {} leaves a head of width {} no hidden channel",
             config.hidden_multiple, head_dim_);
  if (config_.rope_heads == 0) config_.rope_heads = config.num_heads;
  head_width(model_dim, config_.rope_heads);

  shapes_ = rule_.network.matrices(head_dim_, hidden, head_dim_);
  for (const auto& shape : shapes_) {
    if (shape.fixed) continue;
    LACT_CHECK(config.rate_channels == 1 || config.rate_channels == shape.in,
               "[lact] rate_channels is {}, expected 1 or the {} input channels of {}", config.rate_channels,
               shape.in, shape.name);
  }
  initial_weights_ = register_module(
      "initial_weights", std::make_shared<InitialWeights>(shapes_, config.num_heads, config.initial_weights));

  const auto linear = [&](const char* name, int64_t out, bool bias) {
    return register_module(name, std::make_shared<nn::Linear>(model_dim, out, bias));
  };
  written_ = written_matrices(rule_.network, config.update);
  const int64_t matrices = std::count(written_.begin(), written_.end(), true);
  rate_ = linear("rate", matrices * config.num_heads * config.rate_channels, config.rate_bias);
  if (config.update.momentum) momentum_ = linear("momentum", config.num_heads, true);
  output_.emplace(*this, model_dim, config.num_heads, head_dim_,
                  HeadOutputConfig{config.output_norm, config.output_norm_epsilon, config.output_scale,
                                   config.zero_output_scale, config.output_factor});
}

std::unique_ptr<State> Lact::initial_state(int64_t batch) {
  auto state = std::make_unique<LactState>();
  state->memory = start_memory(rule_, initial_weights_->forward(batch));
  const auto no_tokens = [&](int64_t channels) {
    return at::empty({batch, config_.num_heads, 0, channels}, rate_->weight.options()).detach();
  };
  state->k = state->v = no_tokens(head_dim_);
  for (const bool written : written_) {
    state->rates.push_back(written ? no_tokens(config_.rate_channels) : at::Tensor());
  }
  if (momentum_) state->beta = no_tokens(1);
  return state;
}

at::Tensor Lact::mix(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("memory preparation");
  auto& state = dynamic_cast<LactState&>(any_state);
  nn::ActivationCheckpointing checkpointing(checkpoint_activations_ && layout.keeps_nothing());
  ScanInputs inputs = written(in, layout, checkpointing);
  inputs.q = prepare(in.q, layout, checkpointing);
  inputs.first_query = layout.begin;
  if (restarts(layout.schedule)) inputs.initial_weights = initial_weights_->forward(in.x.size(0));
  if (layout.sharding) {
    const SequenceLayout& whole = layout.sharding->whole();
    LACT_CHECK(state.k.size(2) == 0 && whole.keep_writes_from == whole.end(),
               "[lact] ranks share whole chunks, but tokens of an unfinished one are left over");
    state.first = whole.end();
    const at::Tensor read = sharded_scan(rule_, layout, std::move(inputs), state.memory);
    checkpointing.free_until_backward_of(read);
    return output_->forward(read, in.x, checkpoint_activations_);
  }
  join(state, inputs);
  const at::Tensor read = scan(rule_, layout.schedule, inputs, state.memory);
  checkpointing.free_until_backward_of(read);
  keep(state, inputs.first_key, layout.keep_writes_from);
  return output_->forward(read, in.x, checkpoint_activations_);
}

void Lact::collect(const Projected& in, const SequenceLayout& layout, State& any_state) {
  const profile::Scope part("memory preparation");
  auto& state = dynamic_cast<LactState&>(any_state);
  nn::ActivationCheckpointing kept(false);
  ttt::collect(rule_, written(in, layout, kept), state.memory, state.collected);
}

void Lact::write_collected(State& any_state, const parallel::Group& ranks) {
  auto& state = dynamic_cast<LactState&>(any_state);
  ttt::write_collected(rule_, state.memory, state.collected, ranks);
}

at::Tensor Lact::read(const Projected& in, const SequenceLayout& layout, const State& any_state) {
  const profile::Scope part("memory preparation");
  at::NoGradGuard no_grad;
  const auto& state = dynamic_cast<const LactState&>(any_state);
  nn::ActivationCheckpointing kept(false);
  const at::Tensor read = ttt::read(rule_, prepare(in.q, layout, kept), state.memory);
  return output_->forward(read, in.x, checkpoint_activations_);
}

ScanInputs Lact::written(const Projected& in, const SequenceLayout& layout,
                         nn::ActivationCheckpointing& checkpointing) const {
  ScanInputs inputs;
  inputs.k = prepare(in.k, layout, checkpointing);
  const auto silu = [](const std::vector<at::Tensor>& x) { return at::silu(x[0]); };
  inputs.v = to_heads(config_.silu_v ? checkpointing.run(silu, {in.v}) : in.v, config_.num_heads);
  const at::Tensor x = checkpointing.widen(in.x);
  inputs.rates = rates(x);
  if (momentum_) inputs.beta = at::sigmoid(momentum_->forward(x)).transpose(1, 2).unsqueeze(3);
  inputs.first_key = layout.begin;
  return inputs;
}

at::Tensor Lact::prepare(const at::Tensor& qk, const SequenceLayout& layout,
                         nn::ActivationCheckpointing& checkpointing) const {
  const at::Tensor prepared =
      config_.prepare_qk.empty() ? qk : checkpointing.run(preparation(layout, qk.device()), {qk});
  return to_heads(prepared, config_.num_heads);
}

nn::ActivationCheckpointing::Function Lact::preparation(const SequenceLayout& layout,
                                                        at::Device device) const {
  const auto& steps = config_.prepare_qk;
  std::vector<std::function<at::Tensor(const at::Tensor&)>> functions;
  const auto by_head = [](int64_t heads, const auto& function) {
    return [heads, function](const at::Tensor& x) { return function(split_heads(x, heads)).flatten(2); };
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    switch (steps[i]) {
      case Preparation::silu:
        if (i + 1 < steps.size() && steps[i + 1] == Preparation::l2_norm) {
          functions.push_back(by_head(config_.num_heads, [epsilon = config_.l2_epsilon](const at::Tensor& x) {
            return ops::silu_l2_normalize(x, epsilon);
          }));
          ++i;
        } else {
          functions.push_back([](const at::Tensor& x) { return at::silu(x); });
        }
        break;
      case Preparation::l2_norm:
        functions.push_back(by_head(config_.num_heads, [epsilon = config_.l2_epsilon](const at::Tensor& x) {
          return ops::l2_normalize(x, epsilon);
        }));
        break;
      case Preparation::rope: {
        const int64_t width = head_dim_ * config_.num_heads / config_.rope_heads;
        functions.push_back(by_head(
            config_.rope_heads,
            [table = layout.rope_table(width, config_.rope, device),
             pairs = config_.rope.pairs](const at::Tensor& x) { return ops::rope(x, table, pairs); }));
        break;
      }
    }
  }
  return [functions](const std::vector<at::Tensor>& in) {
    at::Tensor x = in[0];
    for (const auto& function : functions) x = function(x);
    return x;
  };
}

// rate = softplus(Linear(x) + softplus⁻¹(base_rate)); x in float32 or wider.
Matrices Lact::rates(const at::Tensor& x) const {
  const int64_t matrices = std::count(written_.begin(), written_.end(), true);
  const at::Tensor raw = rate_->forward(x) + inverse_softplus(config_.base_rate);
  const bool by_head = config_.rate_order == RateOrder::by_head;
  const at::Tensor all =
      at::softplus(raw).unflatten(-1, {by_head ? config_.num_heads : matrices,
                                       by_head ? matrices : config_.num_heads, config_.rate_channels});
  const auto each = all.unbind(by_head ? 3 : 2);
  Matrices rates(written_.size());
  size_t next = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (written_[i]) rates[i] = each[next++].transpose(1, 2);
  }
  return rates;
}

}  // namespace lact::ttt
