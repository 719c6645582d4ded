// Shapes of the test-time-training scan: one table for the tests and the benchmarks.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "lact/ops/norms/norms.h"
#include "lact/ttt/scan.h"

namespace lact::cases {

struct TttCase {
  std::string name;
  int64_t heads, tokens, chunk, width, hidden;
  bool momentum, muon;
};

/// Small and odd sizes, for correctness.
inline std::vector<TttCase> small_ttt_cases() {
  return {{"one token", 1, 1, 4, 8, 8, false, false},
          {"ragged", 2, 63, 16, 24, 40, true, false},
          {"odd widths", 3, 50, 7, 11, 13, true, true},
          {"wide hidden layer", 1, 40, 40, 16, 64, false, true},
          {"narrow hidden layer", 1, 40, 8, 32, 9, false, true}};
}

/// Sizes of the paper's layers, for speed.
inline std::vector<TttCase> large_ttt_cases() {
  return {{"256 gd", 4, 2048, 2048, 256, 256, false, false},
          {"256 muon", 4, 2048, 2048, 256, 256, false, true},
          {"384 chunked momentum muon", 2, 8192, 2048, 384, 384, true, true},
          {"768x1536 muon", 1, 4096, 4096, 768, 1536, false, true}};
}

struct TttProblem {
  ttt::Matrices weights;
  ttt::ScanInputs inputs;
  ttt::UpdateRule rule;
  ttt::Schedule schedule;
};

inline TttProblem make_problem(const TttCase& c, at::ScalarType type) {
  at::manual_seed(17);
  const auto draw = [&](at::IntArrayRef sizes) { return at::randn(sizes).to(type); };
  TttProblem problem;
  problem.rule.momentum = c.momentum;
  problem.rule.muon = c.muon;
  problem.schedule = ttt::block_causal_schedule(c.tokens, c.chunk);
  problem.inputs.q = ops::l2_normalize(draw({1, c.heads, c.tokens, c.width}), 1e-5);
  problem.inputs.k = ops::l2_normalize(draw({1, c.heads, c.tokens, c.width}), 1e-5);
  problem.inputs.v = draw({1, c.heads, c.tokens, c.width});
  for (const auto& shape : ttt::network("swiglu").matrices(c.width, c.hidden, c.width)) {
    problem.weights.push_back(draw({1, c.heads, shape.out, shape.in}) / std::sqrt(double(shape.in)));
    problem.inputs.rates.push_back(draw({1, c.heads, c.tokens, 1}).abs() * 0.01);
  }
  if (c.momentum) problem.inputs.beta = at::sigmoid(draw({1, c.heads, c.tokens, 1}));
  return problem;
}

inline at::Tensor run(const TttProblem& problem) {
  ttt::Memory memory = ttt::start_memory(problem.rule, problem.weights);
  return ttt::scan({ttt::network("swiglu"), ttt::loss("dot_product"), problem.rule}, problem.schedule,
                   problem.inputs, memory);
}

/// Largest difference between float32 and float64, relative to the largest element.
inline double float32_error(const TttCase& c) {
  const at::Tensor precise = run(make_problem(c, at::kDouble));
  const at::Tensor result = run(make_problem(c, at::kFloat)).to(at::kDouble);
  return ((result - precise).abs().max() / precise.abs().max()).item<double>();
}

}  // namespace lact::cases
