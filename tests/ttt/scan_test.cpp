#include "lact/ttt/scan.h"

#include "cases/ttt_cases.h"
#include "cases/update_rules.h"
#include "lact/ops/norms/norms.h"
#include "support/dependence.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ttt {
namespace {

using cases::rules;
using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::expect_same_mask;
using lact::testing::measured_dependence;
using lact::testing::randn;

struct Problem {
  Matrices weights;
  ScanInputs inputs;
};

Problem random_problem(const std::string& name, int64_t tokens, bool momentum, int64_t in = 4,
                       int64_t out = 4) {
  Problem problem;
  problem.inputs.q = ops::l2_normalize(randn({2, 3, tokens, in}), 0);
  problem.inputs.k = ops::l2_normalize(randn({2, 3, tokens, in}), 0);
  problem.inputs.v = randn({2, 3, tokens, out});
  for (const auto& shape : network(name).matrices(in, 6, out)) {
    problem.weights.push_back(randn({2, 3, shape.out, shape.in}) / std::sqrt(double(shape.in)));
    problem.inputs.rates.push_back(at::rand({2, 3, tokens, 1}, at::kDouble) * 0.5 + 0.1);
  }
  if (momentum) problem.inputs.beta = at::rand({2, 3, tokens, 1}, at::kDouble);
  return problem;
}

FastWeightRule with(const std::string& name, const UpdateRule& update,
                    const std::string& loss_name = "dot_product") {
  return {network(name), loss(loss_name), update};
}

at::Tensor run(const FastWeightRule& rule, const Schedule& schedule, const Problem& problem) {
  Memory memory = start_memory(rule.update, problem.weights);
  return scan(rule, schedule, problem.inputs, memory);
}

/// The tokens `range` of a problem.
ScanInputs piece(const ScanInputs& inputs, Range range) {
  const auto cut = [&](const at::Tensor& x) { return x.defined() ? x.slice(2, range.begin, range.end) : x; };
  ScanInputs part = {cut(inputs.q),    cut(inputs.k), cut(inputs.v), {},
                     cut(inputs.beta), range.begin,   range.begin};
  for (const auto& rate : inputs.rates) part.rates.push_back(cut(rate));
  return part;
}

TEST(Scan, OutputsDependOnExactlyTheWritesOfTheMask) {
  at::manual_seed(1);
  const int64_t tokens = 11;
  const std::vector<std::pair<std::string, Schedule>> schedules = {
      {"full", full_schedule(tokens)},
      {"block causal, ragged", block_causal_schedule(tokens, 4)},
      {"shifted, ragged", shifted_schedule(tokens, 4)},
      {"strided", strided_schedule(tokens, 2, 3, 1)},
      {"update some, apply all",
       {{Operation::update, {0, 4}}, {Operation::update, {6, 9}}, {Operation::apply, {0, tokens}}}}};
  for (const auto& [rule_name, update] : rules()) {
    for (const auto& [name, schedule] : schedules) {
      for (const char* network_name : {"swiglu", "linear"}) {
        Problem problem = random_problem(network_name, tokens, update.momentum);
        const auto by_value = [&](const at::Tensor& v) {
          Problem changed = problem;
          changed.inputs.v = v;
          return run(with(network_name, update), schedule, changed);
        };
        expect_same_mask(measured_dependence(by_value, problem.inputs.v, 2), schedule_mask(schedule, tokens),
                         name + ", " + rule_name + ", " + network_name);
      }
    }
  }
}

TEST(Scan, StreamingEqualsOnePassForEveryRule) {
  at::manual_seed(2);
  for (const auto& [name, update] : rules()) {
    for (const char* network_name : {"swiglu", "linear"}) {
      const Problem problem = random_problem(network_name, 14, update.momentum);
      const auto rule = with(network_name, update);
      Memory at_once = start_memory(update, problem.weights);
      const at::Tensor whole = scan(rule, block_causal_schedule(14, 4), problem.inputs, at_once);

      Memory carried = start_memory(update, problem.weights);
      std::vector<at::Tensor> parts;
      for (const auto& step : block_causal_schedule(14, 4)) {
        parts.push_back(scan(rule, {step}, piece(problem.inputs, step.tokens), carried));
      }
      EXPECT_LT(difference(at::cat(parts, 2), whole), 1e-12) << name << ", " << network_name;
      for (size_t i = 0; i < carried.weights.size(); ++i) {
        EXPECT_LT(difference(carried.weights[i], at_once.weights[i]), 1e-12) << name;
      }
    }
  }
}

TEST(Scan, WeightNormsAreKept) {
  at::manual_seed(3);
  for (const auto& [name, update] : rules()) {
    if (update.norm_placement == NormPlacement::none) continue;
    const Problem problem = random_problem("swiglu", 12, update.momentum);
    Memory memory = start_memory(update, problem.weights);
    scan(with("swiglu", update), block_causal_schedule(12, 3), problem.inputs, memory);
    for (size_t i = 0; i < memory.weights.size(); ++i) {
      EXPECT_LT(difference(ops::row_norms(memory.weights[i]), ops::row_norms(problem.weights[i])), 2e-4)
          << name;
      EXPECT_GT(difference(memory.weights[i], problem.weights[i]), 1e-3) << name;
    }
  }
}

TEST(Scan, OrderOfTokensInsideAChunkDoesNotMatter) {
  at::manual_seed(4);
  for (const auto& [name, update] : rules()) {
    Problem problem = random_problem("swiglu", 10, update.momentum);
    const Schedule schedule = {{Operation::update, {0, 6}}, {Operation::apply, {6, 10}}};
    const at::Tensor before = run(with("swiglu", update), schedule, problem);
    const at::Tensor order = at::cat({at::randperm(6, at::kLong), at::arange(6, 10, at::kLong)});
    const auto shuffle = [&](at::Tensor& x) { x = x.defined() ? x.index_select(2, order) : x; };
    shuffle(problem.inputs.k), shuffle(problem.inputs.v), shuffle(problem.inputs.beta);
    for (auto& rate : problem.inputs.rates) shuffle(rate);
    EXPECT_LT(difference(run(with("swiglu", update), schedule, problem), before), 1e-9) << name;
  }
}

TEST(Scan, MomentumIsAveragedOverTheChunkAndDecaysTheEarlierStep) {
  at::manual_seed(5);
  UpdateRule update;
  update.momentum = true;
  update.norm_placement = NormPlacement::none;
  Problem problem = random_problem("linear", 8, true);
  Memory memory = start_memory(update, problem.weights);
  scan(with("linear", update), block_causal_schedule(8, 4), problem.inputs, memory);
  const auto step = [&](Range range) {
    const ScanInputs part = piece(problem.inputs, range);
    return network("linear").descent(problem.weights, part.k, part.v, part.rates)[0];
  };
  const at::Tensor beta = problem.inputs.beta.slice(2, 4, 8).mean(2, true);
  // A linear network's step does not depend on its weights: W + g1 + (β g1 + g2).
  const at::Tensor first = step({0, 4}), second = step({4, 8});
  EXPECT_LT(difference(memory.weights[0], problem.weights[0] + first + beta * first + second), 1e-12);
}

TEST(Scan, MuonIgnoresTheScaleOfTheRates) {
  at::manual_seed(6);
  UpdateRule update;
  update.muon = true;
  Problem problem = random_problem("swiglu", 8, false);
  const at::Tensor before = run(with("swiglu", update), block_causal_schedule(8, 4), problem);
  for (auto& rate : problem.inputs.rates) rate = rate * 50;
  EXPECT_LT(difference(run(with("swiglu", update), block_causal_schedule(8, 4), problem), before), 1e-5);
}

TEST(Scan, SquaredErrorStopsPullingAtAKnownPair) {
  at::manual_seed(7);
  UpdateRule update;
  update.norm_placement = NormPlacement::none;
  Problem problem = random_problem("linear", 3, false);
  problem.inputs.v = network("linear").apply(problem.weights, problem.inputs.k);
  Memory memory = start_memory(update, problem.weights);
  scan(with("linear", update, "squared_error"), {{Operation::update, {0, 3}}}, problem.inputs, memory);
  EXPECT_LT(difference(memory.weights[0], problem.weights[0]), 1e-12);
}

TEST(Scan, TokensThatAreNeverReadGiveZeros) {
  at::manual_seed(8);
  const Problem problem = random_problem("swiglu", 6, false);
  const at::Tensor out =
      run(with("swiglu", {}), {{Operation::update, {0, 6}}, {Operation::apply, {1, 3}}}, problem);
  EXPECT_EQ(out.size(2), 6);
  EXPECT_EQ(out.slice(2, 3).abs().max().item<double>(), 0);
  EXPECT_GT(out.slice(2, 1, 3).abs().max().item<double>(), 0);
}

TEST(Scan, GradientsMatchFiniteDifferencesForEveryRule) {
  at::manual_seed(9);
  for (const auto& [name, update] : rules()) {
    SCOPED_TRACE(name);
    const Problem problem = random_problem("swiglu", 7, update.momentum, 3, 3);
    std::vector<at::Tensor> inputs = {problem.inputs.q, problem.inputs.k, problem.inputs.v};
    for (const auto& list : {problem.weights, problem.inputs.rates})
      inputs.insert(inputs.end(), list.begin(), list.end());
    if (update.momentum) inputs.push_back(problem.inputs.beta);
    expect_gradients(
        [&, &update = update](const auto& x) {
          Problem p = problem;
          p.inputs.q = x[0], p.inputs.k = x[1], p.inputs.v = x[2];
          p.weights = {x[3], x[4], x[5]};
          p.inputs.rates = {x[6], x[7], x[8]};
          if (update.momentum) p.inputs.beta = x[9];
          return run(with("swiglu", update), shifted_schedule(7, 2), p);
        },
        inputs, 2e-5);
  }
}

TEST(Scan, PreviousNormsUnderPreNormAreThoseOfTheAccumulatedWeights) {
  at::manual_seed(12);
  for (const bool detach : {false, true}) {
    UpdateRule update;
    update.norm_placement = NormPlacement::pre;
    update.norm_target = NormTarget::previous;
    update.norm_epsilon = 0;
    update.detach_norm = detach;
    Memory memory = start_memory(update, random_problem("linear", 1, false).weights);
    for (int i = 0; i < 3; ++i) {
      const at::Tensor before = memory.accumulated[0];
      write(memory, update, {randn({2, 3, 4, 4})}, {});
      EXPECT_LT(difference(ops::row_norms(memory.weights[0]), ops::row_norms(before)), 1e-12) << i;
    }
    EXPECT_GT(difference(ops::row_norms(memory.weights[0]), memory.initial_norms[0]), 1e-2);
  }
}

TEST(Scan, DetachedNormsChangeGradientsAndNotOutputs) {
  at::manual_seed(10);
  const auto gradient = [&](bool detach, const Problem& source, at::Tensor* output) {
    UpdateRule update;
    update.detach_norm = detach;
    Problem problem = source;
    for (auto& weight : problem.weights) weight = weight.clone().requires_grad_(true);
    *output = run(with("swiglu", update), full_schedule(5), problem);
    output->square().sum().backward();
    return problem.weights[0].grad();
  };
  const Problem problem = random_problem("swiglu", 5, false);
  at::Tensor attached_output, detached_output;
  const at::Tensor attached = gradient(false, problem, &attached_output);
  const at::Tensor detached = gradient(true, problem, &detached_output);
  EXPECT_LT(difference(attached_output, detached_output), 1e-12);
  EXPECT_GT(difference(attached, detached), 1e-3);
}

TEST(Scan, Bfloat16TokensKeepFloat32Memory) {
  at::manual_seed(11);
  UpdateRule update;
  update.momentum = update.muon = true;
  Problem problem = random_problem("swiglu", 24, true, 8, 8);
  const auto narrow = [](at::Tensor& x, at::ScalarType type) { x = x.to(type); };
  for (auto* list : {&problem.weights, &problem.inputs.rates}) {
    for (auto& x : *list) narrow(x, at::kFloat);
  }
  for (auto* x : {&problem.inputs.q, &problem.inputs.k, &problem.inputs.v, &problem.inputs.beta})
    narrow(*x, at::kFloat);
  const at::Tensor precise = run(with("swiglu", update), shifted_schedule(24, 7), problem);
  for (auto* x : {&problem.inputs.q, &problem.inputs.k, &problem.inputs.v}) narrow(*x, at::kBFloat16);
  Memory memory = start_memory(update, problem.weights);
  const at::Tensor rounded = scan(with("swiglu", update), shifted_schedule(24, 7), problem.inputs, memory);
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_EQ(memory.weights[0].scalar_type(), at::kFloat);
  EXPECT_EQ(memory.momentum[0].scalar_type(), at::kFloat);
  EXPECT_LT(difference(rounded.to(at::kFloat), precise), 0.1);
}

TEST(Scan, Float32IsCloseToFloat64OnOddShapes) {
  for (const auto& c : cases::small_ttt_cases()) EXPECT_LT(cases::float32_error(c), 1e-4) << c.name;
}

TEST(Scan, MistakesGetASentence) {
  at::manual_seed(12);
  const Problem problem = random_problem("swiglu", 6, false);
  const auto rule = with("swiglu", {});
  const auto changed = [&](auto change) {
    Problem p = problem;
    change(p);
    return run(rule, full_schedule(6), p);
  };
  EXPECT_SENTENCE(changed([](Problem& p) { p.inputs.rates[1] = p.inputs.rates[1] * std::nan(""); }),
                  "the learning rates contain NaN");
  EXPECT_SENTENCE(changed([](Problem& p) { p.inputs.v = p.inputs.v.slice(2, 1); }), "6 keys but 5 values");
  EXPECT_SENTENCE(changed([](Problem& p) { p.inputs.rates.pop_back(); }), "2 rates for 3 matrices");
  EXPECT_SENTENCE(changed([](Problem& p) {
                    p.inputs.beta = at::rand({2, 3, 6, 1});
                  }),
                  "no momentum but beta is given");
  UpdateRule momentum;
  momentum.momentum = true;
  EXPECT_SENTENCE(run(with("swiglu", momentum), full_schedule(6), problem), "beta is missing");
  EXPECT_SENTENCE(run(rule, block_causal_schedule(7, 2), problem), "is out of range");
  // Rows that are read where no one writes: past the end, or twice and others never.
  EXPECT_SENTENCE(run(rule, {{Operation::apply, {0, 12}}}, problem),
                  "apply_only [0, 12) is out of range: the tokens are [0, 6)");
  EXPECT_SENTENCE(run(rule, {{Operation::apply, {0, 4}}, {Operation::apply, {2, 6}}}, problem),
                  "[0, 4) and [2, 6) overlap: a token is read twice");
  EXPECT_SENTENCE(network("swigul"),
                  "unknown fast-weight network \"swigul\"; known: linear, swiglu, ttt_linear, "
                  "ttt_mlp");
  EXPECT_SENTENCE(loss("mse"), "unknown fast-weight loss \"mse\"; known: dot_product, squared_error");
}

}  // namespace
}  // namespace lact::ttt
