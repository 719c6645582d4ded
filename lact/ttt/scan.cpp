#include "lact/ttt/scan.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/profile.h"
#include "lact/ops/dispatch/device.h"
#include "lact/ops/dispatch/paths.h"
#include "lact/ttt/scan_forms.h"

namespace lact::ttt {

namespace {

Range positions(const at::Tensor& tokens, int64_t first) { return {first, first + tokens.size(-2)}; }

}  // namespace

void check_scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                const Memory& memory) {
  const int64_t keys = inputs.k.size(-2);
  const auto check_tokens = [&](const at::Tensor& x, const char* name) {
    LACT_CHECK(x.size(-2) == keys, "[ttt] there are {} keys but {} {}", keys, x.size(-2), name);
  };
  check_tokens(inputs.v, "values");
  LACT_CHECK(inputs.rates.size() == memory.weights.size(), "[ttt] there are {} rates for {} matrices",
             inputs.rates.size(), memory.weights.size());
  const std::vector<bool> written = written_matrices(rule.network, rule.update);
  LACT_CHECK(written.size() == memory.weights.size(), "[ttt] the network has {} matrices but the memory {}",
             written.size(), memory.weights.size());
  for (size_t i = 0; i < inputs.rates.size(); ++i) {
    LACT_CHECK(inputs.rates[i].defined() == written[i], "[ttt] matrix {} is {}written but its rates are {}",
               i, written[i] ? "" : "not ", written[i] ? "missing" : "given");
    if (written[i]) check_tokens(inputs.rates[i], "rates");
  }
  LACT_CHECK(rule.update.steps >= 1, "[ttt] a chunk takes {} steps, expected at least 1", rule.update.steps);
  LACT_CHECK(rule.update.momentum == inputs.beta.defined(), "[ttt] the rule has {}momentum but beta is {}",
             rule.update.momentum ? "" : "no ", inputs.beta.defined() ? "given" : "missing");
  if (inputs.beta.defined()) check_tokens(inputs.beta, "betas");
  LACT_CHECK(!restarts(schedule) || inputs.initial_weights.size() == memory.weights.size(),
             "[ttt] the schedule restarts but the initial weights are missing");
  check_schedule(schedule, positions(inputs.q, inputs.first_query), positions(inputs.k, inputs.first_key),
                 !inputs.context.alone());
  // One NaN rate would destroy the memory of everything before it. Reading uses none. A rank that stopped
  // here would leave the others waiting; they all find the loss not finite.
  if (inputs.one_of_many) return;
  if (std::none_of(schedule.begin(), schedule.end(),
                   [](const Step& step) { return updates(step.operation); })) {
    return;
  }
  for (const auto& rate : inputs.rates) {
    if (rate.defined() && ops::has_values(rate) && !at::isfinite(rate.detach()).all().item<bool>()) {
      throw NonFinite("[ttt] the learning rates contain NaN or infinity");
    }
  }
}

Memory start_memory(const FastWeightRule& rule, Matrices weights) {
  return start_memory(rule.update, std::move(weights), written_matrices(rule.network, rule.update));
}

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  const profile::Scope part("fast weights");
  check_scan(rule, schedule, inputs, memory);
  if (ops::fused_paths() && inputs.k.dim() == 4) {
    if (restarts(schedule)) return documents::scan(rule, schedule, inputs, memory);
    if (features::fits(rule, schedule, inputs)) return features::scan(rule, schedule, inputs, memory);
    if (inputs.context.alone() && linear_attention::fits(rule, schedule))
      return linear_attention::scan(rule, schedule, inputs, memory);
    if (inputs.context.alone() && heads::fits(rule, schedule, inputs, memory))
      return heads::scan(rule, schedule, inputs, memory);
    if (fused::fits(rule, schedule, inputs, memory)) return fused::scan(rule, schedule, inputs, memory);
  }
  return reference::scan(rule, schedule, inputs, memory);
}

}  // namespace lact::ttt
