// Checks gradients against central finite differences in float64.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace lact::testing {

using Scalar = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// Compares the gradient of a function of several float64 tensors along random directions with finite
/// differences. The function's result is reduced to a scalar by a fixed random weighting.
inline void expect_gradients(const Scalar& function, std::vector<at::Tensor> inputs,
                             double tolerance = 1e-6) {
  for (auto& input : inputs) input = input.to(at::kDouble).detach().requires_grad_(true);
  at::Tensor weighting;
  const auto scalar = [&](const std::vector<at::Tensor>& arguments) {
    const at::Tensor result = function(arguments);
    if (!weighting.defined()) weighting = at::randn_like(result).detach();
    return (result * weighting).sum();
  };
  scalar(inputs).backward();
  for (size_t i = 0; i < inputs.size(); ++i) {
    at::NoGradGuard no_grad;
    const at::Tensor gradient = inputs[i].grad();
    for (int direction = 0; direction < 3; ++direction) {
      const at::Tensor along = at::randn_like(inputs[i]);
      const double step = 1e-6 * std::max(1e-3, inputs[i].abs().max().item<double>());
      const auto moved = [&](double amount) {
        auto arguments = inputs;
        arguments[i] = inputs[i] + amount * along;
        return scalar(arguments).item<double>();
      };
      const double numeric = (moved(step) - moved(-step)) / (2 * step);
      const double analytic = gradient.defined() ? (gradient * along).sum().item<double>() : 0;
      const double scale = std::max({std::abs(numeric), std::abs(analytic), 1e-3});
      EXPECT_NEAR(numeric / scale, analytic / scale, tolerance)
          << "input " << i << ", direction " << direction;
    }
  }
}

/// max|a - b| / max|b|
inline double difference(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  const double scale = b.abs().max().item<double>();
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>() / (scale > 0 ? scale : 1);
}

inline at::Tensor randn(at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble); }

}  // namespace lact::testing
