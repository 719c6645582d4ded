#include "lact/ttt/collect.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ttt/add_up.h"
#include "lact/ttt/flat.h"

namespace lact::ttt {

namespace {

/// The network's passes with the weights of the memory, for tokens like these and outputs of width `out`.
std::unique_ptr<fused::FastWeightPasses> loaded_passes(const FastWeightRule& rule,
                                                       const fused::PerMatrix& weights,
                                                       const at::Tensor& tokens, int64_t out) {
  auto passes =
      rule.network.passes({tokens.size(0) * tokens.size(1), tokens.size(3), weights.front().size(1), out},
                          tokens.scalar_type() == at::kBFloat16);
  passes->load(weights);
  return passes;
}

Matrices fused_direction(const FastWeightRule& rule, const ScanInputs& inputs, const Memory& memory) {
  const auto weights = fused::flat(memory.weights);
  const auto passes = loaded_passes(rule, weights, inputs.k, inputs.v.size(3));
  Matrices direction;
  for (const auto& weight : weights) direction.push_back(at::zeros_like(weight));
  const Range tokens = {0, inputs.k.size(2)};
  at::Tensor negative_gradient = inputs.v;
  if (rule.loss.negative_gradient_is_residual()) {
    negative_gradient = at::empty(inputs.v.sizes(), inputs.v.options());
    const fused::ReadChunk predicted = {ops::HeadTokens(inputs.k), ops::HeadTokens(negative_gradient),
                                        tokens};
    passes->forward(&predicted, nullptr, {}, /*keep=*/false);
    negative_gradient = inputs.v - negative_gradient;
  }
  const fused::WrittenChunk chunk = {ops::HeadTokens(inputs.k), ops::HeadTokens(negative_gradient),
                                     fused::flat_rows(inputs.rates), tokens};
  passes->forward(nullptr, &chunk, direction, /*keep=*/false);
  for (size_t i = 0; i < direction.size(); ++i) direction[i] = direction[i].view(memory.weights[i].sizes());
  return direction;
}

Matrices reference_direction(const FastWeightRule& rule, const ScanInputs& inputs, const Memory& memory) {
  const at::Tensor prediction =
      rule.loss.needs_prediction() ? rule.network.apply(memory.weights, inputs.k) : at::Tensor();
  return rule.network.descent(memory.weights, inputs.k, rule.loss.negative_gradient(prediction, inputs.v),
                              inputs.rates);
}

void fused_step(const FastWeightRule& rule, Memory& memory, const Collected& collected,
                const at::Tensor& beta) {
  fused::FlatMemory flat = fused::flat(memory);
  fused::step(flat, rule.update, fused::flat(collected.direction),
              beta.defined() ? beta.reshape({-1}).to(at::kFloat) : at::Tensor(), {collected.bf16, false});
  const auto give = [](const fused::PerMatrix& from, Matrices& to) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = from[i].view(to[i].sizes());
  };
  give(flat.weights, memory.weights);
  give(flat.momentum, memory.momentum);
  give(flat.accumulated, memory.accumulated);
  give(flat.anchor, memory.anchor);
  give(flat.importance, memory.importance);
}

/// What all ranks have collected.
void add_up_collected(const FastWeightRule& rule, const Memory& memory, Collected& collected,
                      const parallel::Group& ranks) {
  if (collected.tokens == 0) {
    const std::vector<bool> written = written_matrices(rule.network, rule.update);
    for (size_t i = 0; i < memory.weights.size(); ++i) {
      collected.direction.push_back(written[i] ? at::zeros_like(memory.weights[i]) : at::Tensor());
    }
    const at::Tensor& any = memory.weights.front();
    if (rule.update.momentum) collected.beta = at::zeros({any.size(0), any.size(1), 1, 1}, any.options());
  }
  // Beside the sums: how many tokens, and whether somebody's were bfloat16.
  at::Tensor all = at::cat({packed(collected.direction, collected.beta, collected.bf16 ? 1 : 0),
                            at::full({1}, double(collected.tokens), memory.weights.front().options())});
  ranks.sum(all, kSumOfDirections);
  collected.tokens = all[all.numel() - 1].item<int64_t>();
  const at::ScalarType type = collected.beta.defined() ? collected.beta.scalar_type() : at::kFloat;
  collected.bf16 = unpack(all.narrow(0, 0, all.numel() - 1), collected.direction, collected.beta) > 0;
  if (collected.beta.defined()) collected.beta = collected.beta.to(type);
}

}  // namespace

void collect(const FastWeightRule& rule, const ScanInputs& inputs, const Memory& memory,
             Collected& collected) {
  const profile::Scope part("fast weights");
  at::NoGradGuard no_grad;
  LACT_CHECK(
      rule.update.steps == 1,
      "[ttt] a write that comes in pieces takes one step, but the rule has {}: its tokens would have to "
      "come again",
      rule.update.steps);
  ScanInputs keys = inputs;
  keys.q = inputs.k;
  keys.first_query = inputs.first_key;
  const Schedule schedule = {{Operation::update, {inputs.first_key, inputs.first_key + inputs.k.size(2)}}};
  check_scan(rule, schedule, keys, memory);
  const bool fused = ops::fused_paths() && fused::fits(rule, schedule, keys, memory);
  const Matrices direction =
      fused ? fused_direction(rule, keys, memory) : reference_direction(rule, keys, memory);
  const at::Tensor beta = inputs.beta.defined() ? inputs.beta.sum(2, /*keepdim=*/true) : at::Tensor();
  if (collected.tokens == 0) {
    collected.direction = direction;
    collected.beta = beta;
  } else {
    for (size_t i = 0; i < direction.size(); ++i) {
      if (direction[i].defined()) collected.direction[i] = collected.direction[i] + direction[i];
    }
    if (beta.defined()) collected.beta = collected.beta + beta;
  }
  collected.tokens += inputs.k.size(2);
  collected.bf16 = inputs.k.scalar_type() == at::kBFloat16;
}

at::Tensor read(const FastWeightRule& rule, const at::Tensor& q, const Memory& memory) {
  const profile::Scope part("fast weights");
  at::NoGradGuard no_grad;
  const int64_t tokens = q.size(2), out_width = q.size(3);
  // A layer's values are as wide as its queries.
  const ScanInputs inputs = {.q = q, .k = q, .v = q, .rates = {}, .beta = {}};
  const Schedule schedule = {{Operation::apply, {0, tokens}}};
  if (!ops::fused_paths() || !fused::fits(rule, schedule, inputs, memory))
    return rule.network.apply(memory.weights, q);
  const auto weights = fused::flat(memory.weights);
  const at::Tensor out = at::empty({q.size(0), tokens, q.size(1), out_width}, q.options()).transpose(1, 2);
  const fused::ReadChunk chunk = {ops::HeadTokens(q), ops::HeadTokens(out), {0, tokens}};
  loaded_passes(rule, weights, q, out_width)->forward(&chunk, nullptr, {}, /*keep=*/false);
  return out;
}

void write_collected(const FastWeightRule& rule, Memory& memory, Collected& collected,
                     const parallel::Group& ranks) {
  const profile::Scope part("fast weights");
  at::NoGradGuard no_grad;
  if (!ranks.alone()) add_up_collected(rule, memory, collected, ranks);
  LACT_CHECK(collected.tokens > 0, "[ttt] nothing was collected, so there is nothing to write");
  const at::Tensor beta = collected.beta.defined() ? collected.beta / double(collected.tokens) : at::Tensor();
  const auto& newton_schulz = rule.update.newton_schulz;
  const bool rounds = rule.update.muon && newton_schulz.iteration_type == ops::IterationType::bfloat16;
  const auto& direction = collected.direction;
  const bool all = std::all_of(direction.begin(), direction.end(), [](const auto& x) { return x.defined(); });
  const bool fused = ops::fused_paths() && all && memory.weights.front().is_cpu() &&
                     memory.weights.front().scalar_type() == at::kFloat && (!rounds || collected.bf16);
  if (fused) {
    fused_step(rule, memory, collected, beta);
  } else {
    write(memory, rule.update, collected.direction, beta);
  }
  collected = {};
}

}  // namespace lact::ttt
