// A form of the scan against the reference form in float64: values, every gradient, the memory it leaves.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include "lact/ops/norms/norms.h"
#include "lact/ttt/scan_forms.h"
#include "support/gradients.h"

namespace lact::ttt::testing {

struct Case {
  std::string network = "swiglu";
  int64_t batch = 2, heads = 3, tokens = 100, chunk = 40, in = 24, hidden = 40, out = 24;
  double rate = 0.3, scale = 1;
  Schedule schedule = {};
  std::string loss = "dot_product";
};

struct FusedProblem {
  Matrices weights;
  ScanInputs inputs;
  Schedule schedule;
  at::Tensor weighting;

  /// The tensors that want gradients, with names.
  std::vector<std::pair<std::string, at::Tensor*>> named() {
    std::vector<std::pair<std::string, at::Tensor*>> all = {
        {"q", &inputs.q}, {"k", &inputs.k}, {"v", &inputs.v}};
    for (size_t i = 0; i < weights.size(); ++i) {
      all.emplace_back("weight " + std::to_string(i), &weights[i]);
      if (inputs.rates[i].defined()) all.emplace_back("rate " + std::to_string(i), &inputs.rates[i]);
    }
    if (inputs.beta.defined()) all.emplace_back("beta", &inputs.beta);
    return all;
  }
};

/// What runs a scan.
struct Form {
  decltype(&fused::fits) fits;
  decltype(&fused::scan) scan;
};

/// Numbers that bfloat16 holds exactly, so that both precisions start from the same.
inline at::Tensor rounded(const at::Tensor& x) { return x.to(at::kBFloat16).to(at::kDouble); }

inline FusedProblem make(const Case& c, const UpdateRule& rule) {
  at::manual_seed(5);
  FusedProblem p;
  const auto tokens = [&](int64_t width) {
    return at::randn({c.batch, c.heads, c.tokens, width}, at::kDouble);
  };
  p.inputs.q = rounded(ops::l2_normalize(tokens(c.in), 1e-5));
  p.inputs.k = rounded(ops::l2_normalize(tokens(c.in), 1e-5));
  p.inputs.v = rounded(tokens(c.out) * c.scale);
  const auto written = written_matrices(network(c.network), rule);
  for (const auto& shape : network(c.network).matrices(c.in, c.hidden, c.out)) {
    const at::Tensor noise = at::randn({c.batch, c.heads, shape.out, shape.in}, at::kDouble);
    p.weights.push_back(
        rounded(shape.initial ? *shape.initial + 0.3 * noise : noise / std::sqrt(double(shape.in))));
    const at::Tensor rates = rounded(at::rand({c.batch, c.heads, c.tokens, 1}, at::kDouble) * c.rate);
    p.inputs.rates.push_back(written[p.inputs.rates.size()] ? rates : at::Tensor());
  }
  if (rule.momentum) p.inputs.beta = rounded(at::rand({c.batch, c.heads, c.tokens, 1}, at::kDouble));
  p.schedule = c.schedule.empty() ? shifted_schedule(c.tokens, c.chunk) : c.schedule;
  p.weighting = at::randn({c.batch, c.heads, c.tokens, c.out}, at::kDouble);
  return p;
}

struct Result {
  at::Tensor out;
  std::vector<at::Tensor> gradients;
  Memory memory;
};

/// Runs one form of the scan, or the reference, in the given type of tokens and returns the output and all
/// gradients.
inline Result run(const Case& c, FusedProblem p, const UpdateRule& rule, at::ScalarType type,
                  const Form* form, bool recompute, bool use_memory = false) {
  const auto matrix_type = type == at::kDouble ? at::kDouble : at::kFloat;
  for (auto& [name, tensor] : p.named()) {
    const bool token = name == "q" || name == "k" || name == "v";
    *tensor = tensor->to(token ? type : matrix_type).detach().requires_grad_(true);
  }
  const FastWeightRule whole = {network(c.network), loss(c.loss), rule, recompute};
  Result result;
  result.memory = start_memory(whole, p.weights);
  if (form != nullptr) {
    EXPECT_TRUE(form->fits(whole, p.schedule, p.inputs, result.memory));
  }
  result.out = (form != nullptr ? form->scan : reference::scan)(whole, p.schedule, p.inputs, result.memory);
  at::Tensor total = (result.out.to(at::kDouble) * p.weighting).sum();
  if (use_memory) {
    at::manual_seed(8);
    for (const auto* group : {&result.memory.weights, &result.memory.momentum, &result.memory.accumulated}) {
      for (const auto& m : *group) {
        if (m.defined()) total = total + (m.to(at::kDouble) * at::randn(m.sizes(), at::kDouble)).sum();
      }
    }
  }
  total.backward();
  for (auto& [name, tensor] : p.named()) {
    result.gradients.push_back(tensor->grad().defined() ? tensor->grad() : at::zeros_like(*tensor));
  }
  return result;
}

/// |a - b| / |b|: single elements of a bfloat16 result may be far off where Muon lifts small singular values.
inline double distance(const at::Tensor& a, const at::Tensor& b) {
  const double scale = b.to(at::kDouble).norm().item<double>();
  return (a.to(at::kDouble) - b.to(at::kDouble)).norm().item<double>() / (scale > 0 ? scale : 1);
}

inline void expect_same(const Form& form, const Case& c, const UpdateRule& rule, at::ScalarType type,
                        double tolerance, bool recompute = false, bool use_memory = false) {
  FusedProblem p = make(c, rule);
  const Result wanted = run(c, p, rule, at::kDouble, nullptr, false, use_memory);
  const Result found = run(c, p, rule, type, &form, recompute, use_memory);
  EXPECT_EQ(found.out.scalar_type(), type);
  const auto error = type == at::kBFloat16 ? distance : lact::testing::difference;
  EXPECT_LT(error(found.out, wanted.out), tolerance) << "output";
  const auto names = p.named();
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_LT(error(found.gradients[i], wanted.gradients[i]), tolerance) << "gradient of " << names[i].first;
  }
  for (size_t i = 0; i < wanted.memory.weights.size(); ++i) {
    EXPECT_LT(error(found.memory.weights[i], wanted.memory.weights[i]), tolerance) << "memory " << i;
  }
  for (size_t i = 0; i < wanted.memory.anchor.size(); ++i) {
    EXPECT_LT(error(found.memory.anchor[i], wanted.memory.anchor[i]), tolerance) << "anchor " << i;
    EXPECT_LT(error(found.memory.importance[i], wanted.memory.importance[i]), 2 * tolerance)
        << "importance " << i;
  }
}

}  // namespace lact::ttt::testing
