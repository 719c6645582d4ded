#include "lact/mixers/ttt/scan.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/ops/assemble.h"

namespace lact::ttt {

namespace {

Range positions(const at::Tensor& tokens, int64_t first) { return {first, first + tokens.size(-2)}; }

at::Tensor slice(const at::Tensor& x, Range range, int64_t first) {
  return x.narrow(-2, range.begin - first, range.size());
}

void check_inputs(const FastWeightRule& rule, const ScanInputs& inputs, const Memory& memory) {
  const int64_t keys = inputs.k.size(-2);
  const auto check_tokens = [&](const at::Tensor& x, const char* name) {
    LACT_CHECK(x.size(-2) == keys, "[ttt] there are {} keys but {} {}", keys, x.size(-2), name);
  };
  check_tokens(inputs.v, "values");
  LACT_CHECK(inputs.rates.size() == memory.weights.size(), "[ttt] there are {} rates for {} matrices",
             inputs.rates.size(), memory.weights.size());
  for (const auto& rate : inputs.rates) check_tokens(rate, "rates");
  LACT_CHECK(rule.update.momentum == inputs.beta.defined(), "[ttt] the rule has {}momentum but beta is {}",
             rule.update.momentum ? "" : "no ", inputs.beta.defined() ? "given" : "missing");
  if (inputs.beta.defined()) check_tokens(inputs.beta, "betas");
  // One NaN rate would destroy the memory of everything before it.
  for (const auto& rate : inputs.rates) {
    if (!at::isfinite(rate.detach()).all().item<bool>()) {
      throw NonFinite("[ttt] the learning rates contain NaN or infinity");
    }
  }
}

}  // namespace

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  const profile::Scope part("fast weights");
  check_inputs(rule, inputs, memory);
  const Range queries = positions(inputs.q, inputs.first_query);
  check_schedule(schedule, queries, positions(inputs.k, inputs.first_key));

  const auto update = [&](Range tokens) {
    const auto chunk = [&](const at::Tensor& x) { return slice(x, tokens, inputs.first_key); };
    Matrices rates;
    for (const auto& rate : inputs.rates) rates.push_back(chunk(rate));
    const at::Tensor k = chunk(inputs.k);
    const at::Tensor prediction =
        rule.loss.needs_prediction() ? rule.network.apply(memory.weights, k) : at::Tensor();
    const at::Tensor pull = rule.loss.pull(prediction, chunk(inputs.v));
    write(memory, rule.update, rule.network.descent(memory.weights, k, pull, rates),
          inputs.beta.defined() ? chunk(inputs.beta) : at::Tensor());
  };

  std::vector<std::pair<Range, at::Tensor>> outputs;
  const auto apply = [&](Range tokens) {
    outputs.emplace_back(tokens,
                         rule.network.apply(memory.weights, slice(inputs.q, tokens, inputs.first_query)));
  };

  for (const auto& [operation, tokens] : schedule) {
    switch (operation) {
      case Operation::update_then_apply:
        update(tokens), apply(tokens);
        break;
      case Operation::apply_then_update:
        apply(tokens), update(tokens);
        break;
      case Operation::update:
        update(tokens);
        break;
      case Operation::apply:
        apply(tokens);
        break;
    }
  }
  const int64_t dim = inputs.q.dim() - 2;
  return ops::assemble(std::move(outputs), queries, dim, inputs.v.narrow(dim, 0, 0));
}

}  // namespace lact::ttt
