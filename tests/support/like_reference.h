// Compares a fused path with the reference in float64.
#pragma once

#include <string>
#include <vector>

#include "support/gradients.h"
#include "support/instruction_sets.h"

namespace lact::testing {

/// The value of a function and the gradients of its inputs under a fixed random weighting.
inline std::vector<at::Tensor> value_and_gradients(const Scalar& function,
                                                   const std::vector<at::Tensor>& inputs,
                                                   const at::Tensor& weighting) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : inputs) leaves.push_back(input.detach().clone().requires_grad_(true));
  const at::Tensor value = function(leaves);
  value.backward(weighting.to(value.scalar_type()));
  std::vector<at::Tensor> results = {value.detach()};
  for (const auto& leaf : leaves) {
    results.push_back(leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf));
  }
  return results;
}

/// `fused` on inputs of their type against `reference` on the same numbers in float64: value and every
/// gradient within `tolerance` of the largest entry. The same call twice gives the same bits.
inline void expect_like_reference(const Scalar& fused, const Scalar& reference,
                                  const std::vector<at::Tensor>& inputs, double tolerance) {
  std::vector<at::Tensor> precise;
  for (const auto& input : inputs) precise.push_back(input.to(at::kDouble));
  const at::Tensor weighting = at::randn(reference(precise).sizes()).to(inputs[0].scalar_type());
  const auto wanted = value_and_gradients(reference, precise, weighting);
  const auto found = value_and_gradients(fused, inputs, weighting);
  const auto again = value_and_gradients(fused, inputs, weighting);
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_LT(difference(found[i].to(at::kDouble), wanted[i]), tolerance)
        << (i == 0 ? "value" : "gradient of input ") << (i == 0 ? "" : std::to_string(i - 1));
    EXPECT_TRUE(found[i].equal(again[i])) << "another result in a second run, " << i;
  }
}

}  // namespace lact::testing
