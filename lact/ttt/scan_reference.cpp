#include <ATen/ATen.h>

#include "lact/ops/tokens/assemble.h"
#include "lact/ttt/add_up.h"
#include "lact/ttt/scan.h"

namespace lact::ttt::reference {

namespace {

at::Tensor slice(const at::Tensor& x, Range range, int64_t first) {
  return x.defined() ? x.narrow(-2, range.begin - first, range.size()) : x;
}

}  // namespace

at::Tensor scan(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                Memory& memory) {
  const auto update = [&](Range tokens) {
    const auto chunk = [&](const at::Tensor& x) { return slice(x, tokens, inputs.first_key); };
    Matrices rates;
    for (const auto& rate : inputs.rates) rates.push_back(chunk(rate));
    const at::Tensor k = chunk(inputs.k), v = chunk(inputs.v), beta = chunk(inputs.beta);
    for (int64_t i = 0; i < rule.update.steps; ++i) {
      const at::Tensor prediction =
          rule.loss.needs_prediction() ? rule.network.apply(memory.weights, k) : at::Tensor();
      const at::Tensor negative_gradient = rule.loss.negative_gradient(prediction, v);
      const Direction whole = add_up(
          {rule.network.descent(memory.weights, k, negative_gradient, rates), beta}, inputs.context);
      write(memory, rule.update, whole.matrices, whole.beta);
    }
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
      case Operation::restart:
        memory = start_memory(rule, inputs.initial_weights);
        break;
    }
  }
  const int64_t dim = inputs.q.dim() - 2;
  const Range queries = {inputs.first_query, inputs.first_query + inputs.q.size(dim)};
  return ops::assemble(std::move(outputs), queries, dim, inputs.v.narrow(dim, 0, 0));
}

}  // namespace lact::ttt::reference
