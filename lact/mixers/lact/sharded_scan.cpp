#include "lact/mixers/lact/sharded_scan.h"

#include <ATen/ATen.h>

#include "lact/mixers/sharding.h"

namespace lact::ttt {

namespace {

/// Algorithm 4: all tokens of the tensor axis for a share of the heads.
void take_own_heads(const Sharding& sharding, ScanInputs& inputs, Memory& memory) {
  const auto tokens = sharding.to_heads({inputs.q, inputs.k, inputs.v}, "lact");
  inputs.q = tokens[0], inputs.k = tokens[1], inputs.v = tokens[2];
  std::vector<at::Tensor> small;
  for (const auto& rate : inputs.rates) {
    if (rate.defined()) small.push_back(rate);
  }
  if (inputs.beta.defined()) small.push_back(inputs.beta);
  small = sharding.to_heads(small, "lact");
  size_t next = 0;
  for (auto& rate : inputs.rates) {
    if (rate.defined()) rate = small[next++];
  }
  if (inputs.beta.defined()) inputs.beta = small[next];
  for (auto& weight : inputs.initial_weights) weight = sharding.own_heads(weight, 1);
  for (auto* group : {&memory.weights, &memory.initial_norms, &memory.momentum, &memory.accumulated,
                      &memory.anchor, &memory.importance}) {
    for (auto& matrix : *group) matrix = sharding.own_heads(matrix, 1);
  }
}

}  // namespace

at::Tensor sharded_scan(const FastWeightRule& rule, const SequenceLayout& layout, ScanInputs inputs,
                        Memory& memory) {
  const Sharding& sharding = *layout.sharding;
  take_own_heads(sharding, inputs, memory);
  inputs.first_query = inputs.first_key = 0;
  inputs.context = sharding.context();
  inputs.one_of_many = true;
  return sharding.to_tokens(scan(rule, layout.schedule, inputs, memory), "lact");
}

}  // namespace lact::ttt
