#include <ATen/ATen.h>

#include "lact/ttt/scan_forms.h"

namespace lact::ttt::features {

namespace {

/// Below this many tokens the network's own few-token kernels are faster.
constexpr int64_t kFewestTokens = 32;

int64_t tokens_of(const Schedule& schedule) {
  int64_t tokens = 0;
  for (const auto& step : schedule) tokens += step.tokens.size();
  return tokens;
}

}  // namespace

bool fits(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs) {
  if (rule.update.written != Written::down || &rule.network == &network("linear")) return false;
  if (tokens_of(schedule) < kFewestTokens || inputs.q.size(2) == 0) return false;
  // Asked of tiny matrices: whether there is such a form does not depend on the numbers.
  Matrices tiny;
  for (const auto& shape : rule.network.matrices(1, 1, 1))
    tiny.push_back(at::zeros({1, 1, shape.out, shape.in}));
  return rule.network.features(tiny, at::zeros({1, 1, 1, 1})).defined();
}

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  const size_t output = rule.network.output_matrix();
  ScanInputs hidden = inputs;
  hidden.q = rule.network.features(memory.weights, inputs.q);
  hidden.k = rule.network.features(memory.weights, inputs.k);
  hidden.rates = {inputs.rates.at(output)};
  Memory own;
  const auto groups = {&Memory::weights,     &Memory::initial_norms, &Memory::momentum,
                       &Memory::accumulated, &Memory::anchor,        &Memory::importance};
  for (const auto group : groups) {
    if (!(memory.*group).empty()) (own.*group) = {(memory.*group)[output]};
  }
  const FastWeightRule linear_rule = {network("linear"), rule.loss, rule.update, rule.recompute};
  const at::Tensor out = ttt::scan(linear_rule, schedule, hidden, own);
  for (const auto group : groups) {
    if (!(memory.*group).empty()) (memory.*group)[output] = (own.*group).front();
  }
  return out;
}

}  // namespace lact::ttt::features
