// What the update rule can do besides the paper's: each option against a plain form that knows the network
// only as a function and takes its gradients from autograd.
#include <ATen/ATen.h>
#include <torch/autograd.h>

#include "lact/ops/norms/norms.h"
#include "lact/ttt/scan.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ttt {
namespace {

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

struct SwitchedRule {
  std::string name, network, loss;
  UpdateRule update;
};

/// Options one by one and together, on every network.
std::vector<SwitchedRule> switched_rules() {
  std::vector<SwitchedRule> all;
  const auto add = [&](const std::string& name, const UpdateRule& update) {
    for (const char* network : {"swiglu", "linear", "ttt_linear", "ttt_mlp"}) {
      for (const char* loss : {"dot_product", "squared_error"}) {
        all.push_back({name + ", " + network + ", " + loss, network, loss, update});
      }
    }
  };
  UpdateRule plain;
  plain.norm_placement = NormPlacement::none;
  UpdateRule rule = plain;
  add("plain", rule);
  rule.steps = 3;
  add("three steps", rule);
  rule = plain, rule.ascent = true;
  add("ascent", rule);
  rule = plain, rule.written = Written::down;
  add("down only", rule);
  rule = plain, rule.elastic.pull = 0.3;
  add("elastic", rule);
  rule = {}, rule.momentum = rule.muon = true, rule.newton_schulz.steps = 2;
  rule.steps = 2, rule.ascent = true, rule.written = Written::down, rule.elastic.pull = 0.3;
  add("all together", rule);
  rule.norm_placement = NormPlacement::pre, rule.written = Written::all;
  add("all together, pre-norm", rule);
  return all;
}

struct SwitchedProblem {
  Matrices weights;
  ScanInputs inputs;
};

SwitchedProblem switched_problem(const SwitchedRule& rule, int64_t tokens) {
  constexpr int64_t kWidth = 4, kHidden = 6;
  SwitchedProblem p;
  p.inputs.q = ops::l2_normalize(randn({2, 2, tokens, kWidth}), 0);
  p.inputs.k = ops::l2_normalize(randn({2, 2, tokens, kWidth}), 0);
  p.inputs.v = randn({2, 2, tokens, kWidth});
  const auto written = written_matrices(network(rule.network), rule.update);
  for (const auto& shape : network(rule.network).matrices(kWidth, kHidden, kWidth)) {
    const bool is_written = written[p.weights.size()];
    p.weights.push_back(randn({2, 2, shape.out, shape.in}) / std::sqrt(double(shape.in)) +
                        shape.initial.value_or(0));
    p.inputs.rates.push_back(is_written ? at::rand({2, 2, tokens, 1}, at::kDouble) * 0.2 : at::Tensor());
  }
  if (rule.update.momentum) p.inputs.beta = at::rand({2, 2, tokens, 1}, at::kDouble);
  return p;
}

FastWeightRule whole(const SwitchedRule& rule) {
  return {network(rule.network), loss(rule.loss), rule.update};
}

at::Tensor rows(const at::Tensor& x, const at::Tensor& weight) {
  return at::matmul(x, weight.transpose(2, 3));
}

at::Tensor norm_of(const at::Tensor& z, const at::Tensor& scale, const at::Tensor& shift) {
  return at::layer_norm(z, {z.size(-1)}, {}, {}, 1e-6) * scale + shift;
}

at::Tensor plain_network(const std::string& name, const Matrices& m, const at::Tensor& x) {
  if (name == "linear") return rows(x, m[0]);
  if (name == "swiglu") return rows(at::silu(rows(x, m[0])) * rows(x, m[2]), m[1]);
  if (name == "ttt_linear") return x + norm_of(rows(x, m[0]) + m[1].transpose(2, 3), m[2], m[3]);
  const at::Tensor hidden = at::gelu(rows(x, m[0]) + m[1].transpose(2, 3), "tanh");
  return x + norm_of(rows(hidden, m[2]) + m[3].transpose(2, 3), m[4], m[5]);
}

/// What an elastic anchor treats as constants, in the order of its use.
struct Constants {
  std::vector<at::Tensor> pulls, anchors;
  size_t next = 0;
  bool recorded = false;
};

/// Chunk after chunk, read and then written; returns what was read and leaves the weights.
at::Tensor plain_scan(const SwitchedRule& rule, const SwitchedProblem& p, int64_t chunk, Matrices& weights,
                      Constants& constants) {
  const UpdateRule& update = rule.update;
  const auto written = written_matrices(network(rule.network), update);
  const bool pre = update.norm_placement == NormPlacement::pre;
  weights = p.weights;
  Matrices stored = p.weights, momentum(stored.size()), anchor, importance(stored.size());
  for (const auto& weight : stored) anchor.push_back(weight.detach());
  std::vector<at::Tensor> outputs;
  constants.next = 0;
  for (int64_t begin = 0; begin < p.inputs.q.size(2); begin += chunk) {
    const auto cut = [&](const at::Tensor& x) { return x.slice(2, begin, begin + chunk); };
    outputs.push_back(plain_network(rule.network, weights, cut(p.inputs.q)));
    for (int64_t step = 0; step < update.steps; ++step) {
      Matrices gradients(weights.size());
      for (size_t i = 0; i < weights.size(); ++i) {
        if (!written[i]) continue;
        Matrices moving = weights;
        at::AutoGradMode on(true);
        moving[i] = weights[i].detach().requires_grad_(true);
        const at::Tensor f = plain_network(rule.network, moving, cut(p.inputs.k)), v = cut(p.inputs.v);
        const at::Tensor losses =
            rule.loss == "dot_product" ? -(f * v).sum(-1, true) : 0.5 * (f - v).square().sum(-1, true);
        gradients[i] = torch::autograd::grad({(cut(p.inputs.rates[i]) * losses).sum()}, {moving[i]})[0];
      }
      for (size_t i = 0; i < weights.size(); ++i) {
        if (!written[i]) continue;
        at::Tensor along = update.ascent ? gradients[i] : -gradients[i];
        if (update.momentum) {
          if (momentum[i].defined()) along = along + momentum[i] * cut(p.inputs.beta).mean(2, true);
          momentum[i] = along;
        }
        if (update.muon) along = ops::newton_schulz(along, update.newton_schulz);
        at::Tensor moved = stored[i] + along;
        if (update.elastic.pull > 0) {
          const double a = update.elastic.importance_decay;
          importance[i] =
              importance[i].defined() ? a * importance[i] + (1 - a) * along * along : (1 - a) * along * along;
          at::Tensor pull = update.elastic.pull * (1 - importance[i] / importance[i].amax({2, 3}, true));
          at::Tensor towards = anchor[i];
          if (constants.recorded) {
            pull = constants.pulls[constants.next], towards = constants.anchors[constants.next++];
          } else {
            constants.pulls.push_back(pull), constants.anchors.push_back(towards);
          }
          moved = moved - pull * (moved - towards);
        }
        stored[i] = weights[i] = moved;
        if (update.norm_placement != NormPlacement::none) {
          const at::Tensor length = moved.norm(2, {3}, true) + update.norm_epsilon;
          weights[i] = moved / length * p.weights[i].norm(2, {3}, true);
          if (!pre) stored[i] = weights[i];
        }
        const double b = update.elastic.anchor_decay;
        anchor[i] = b * anchor[i] + (1 - b) * stored[i];
      }
    }
  }
  constants.recorded = true;
  return at::cat(outputs, 2);
}

Schedule read_then_write(int64_t tokens, int64_t chunk) {
  Schedule schedule = block_causal_schedule(tokens, chunk);
  for (auto& step : schedule) step.operation = Operation::apply_then_update;
  return schedule;
}

TEST(Switchboard, EveryOptionEqualsAPlainForm) {
  at::manual_seed(1);
  at::NoGradGuard no_grad;
  for (const auto& rule : switched_rules()) {
    const SwitchedProblem p = switched_problem(rule, 11);
    Matrices wanted_weights;
    Constants constants;
    const at::Tensor wanted = plain_scan(rule, p, 4, wanted_weights, constants);
    Memory memory = start_memory(whole(rule), p.weights);
    const at::Tensor found = reference::scan(whole(rule), read_then_write(11, 4), p.inputs, memory);
    EXPECT_LT(difference(found, wanted), 1e-9) << rule.name;
    for (size_t i = 0; i < wanted_weights.size(); ++i) {
      EXPECT_LT(difference(memory.weights[i], wanted_weights[i]), 1e-9) << rule.name << ", matrix " << i;
    }
  }
}

// The plain form with the anchor's constants as they were stands in where finite differences are taken.
TEST(Switchboard, GradientsMatchFiniteDifferences) {
  at::manual_seed(2);
  for (const auto& rule : switched_rules()) {
    SCOPED_TRACE(rule.name);
    const SwitchedProblem problem = switched_problem(rule, 4);
    Constants constants;
    Matrices left;
    plain_scan(rule, problem, 2, left, constants);
    std::vector<at::Tensor> inputs = {problem.inputs.q, problem.inputs.k, problem.inputs.v};
    for (const auto& weight : problem.weights) inputs.push_back(weight);
    for (const auto& rate : problem.inputs.rates) {
      if (rate.defined()) inputs.push_back(rate);
    }
    if (rule.update.momentum) inputs.push_back(problem.inputs.beta);
    const auto run = [&](const std::vector<at::Tensor>& x) {
      SwitchedProblem p = problem;
      size_t next = 0;
      p.inputs.q = x[next++], p.inputs.k = x[next++], p.inputs.v = x[next++];
      for (auto& weight : p.weights) weight = x[next++];
      for (auto& rate : p.inputs.rates) {
        if (rate.defined()) rate = x[next++];
      }
      if (rule.update.momentum) p.inputs.beta = x[next++];
      if (!at::GradMode::is_enabled()) return plain_scan(rule, p, 2, left, constants);
      Memory memory = start_memory(whole(rule), p.weights);
      return reference::scan(whole(rule), read_then_write(4, 2), p.inputs, memory);
    };
    expect_gradients(run, inputs, 1e-4);
  }
}

TEST(Switchboard, PiecesCarryEverythingThatAnOptionRemembers) {
  at::manual_seed(3);
  for (const auto& rule : switched_rules()) {
    const SwitchedProblem p = switched_problem(rule, 12);
    Memory at_once = start_memory(whole(rule), p.weights), carried = at_once;
    const at::Tensor wanted = scan(whole(rule), read_then_write(12, 3), p.inputs, at_once);
    std::vector<at::Tensor> parts;
    for (const auto& step : read_then_write(12, 3)) {
      ScanInputs piece = p.inputs;
      const auto cut = [&](at::Tensor& x) {
        if (x.defined()) x = x.slice(2, step.tokens.begin, step.tokens.end);
      };
      cut(piece.q), cut(piece.k), cut(piece.v), cut(piece.beta);
      for (auto& rate : piece.rates) cut(rate);
      piece.first_query = piece.first_key = step.tokens.begin;
      parts.push_back(scan(whole(rule), {step}, piece, carried));
    }
    EXPECT_LT(difference(at::cat(parts, 2), wanted), 1e-9) << rule.name;
  }
}

TEST(Switchboard, WithDownAloneTheOthersStayAsTheyBegan) {
  at::manual_seed(4);
  SwitchedRule rule = {"", "swiglu", "dot_product", {}};
  rule.update.momentum = true;
  rule.update.written = Written::down;
  const SwitchedProblem p = switched_problem(rule, 8);
  Memory memory = start_memory(whole(rule), p.weights);
  scan(whole(rule), block_causal_schedule(8, 4), p.inputs, memory);
  EXPECT_TRUE(at::equal(memory.weights[0], p.weights[0]));
  EXPECT_TRUE(at::equal(memory.weights[2], p.weights[2]));
  EXPECT_GT(difference(memory.weights[1], p.weights[1]), 1e-3);
  EXPECT_FALSE(memory.momentum[0].defined());
  EXPECT_TRUE(memory.momentum[1].defined());

  ScanInputs given = p.inputs;
  given.rates[0] = given.rates[1];
  EXPECT_SENTENCE(scan(whole(rule), block_causal_schedule(8, 4), given, memory),
                  "matrix 0 is not written but its rates are given");
}

// Newton-Schulz of nothing is nothing. Putting back the norms divides by |w| + ε, which moves a row by ε /
// |w|.
TEST(Switchboard, ARateOfZeroLeavesTheMemoryAsItIs) {
  at::manual_seed(5);
  for (const char* loss : {"dot_product", "squared_error"}) {
    for (const bool muon : {false, true}) {
      for (const auto placement : {NormPlacement::none, NormPlacement::post, NormPlacement::pre}) {
        for (const double epsilon : {0.0, 1e-5}) {
          SwitchedRule rule = {"", "swiglu", loss, {}};
          rule.update.momentum = true, rule.update.muon = muon;
          rule.update.norm_placement = placement;
          rule.update.norm_epsilon = epsilon;
          rule.update.elastic.pull = 0.05;
          rule.update.steps = 2;
          for (const auto type : {at::kDouble, at::kFloat}) {
            SwitchedProblem p = switched_problem(rule, 64);
            for (auto* x : {&p.inputs.q, &p.inputs.k, &p.inputs.v, &p.inputs.beta}) *x = x->to(type);
            for (auto& weight : p.weights) weight = weight.to(type);
            for (auto& rate : p.inputs.rates) rate = at::zeros_like(rate).to(type);
            Memory memory = start_memory(whole(rule), p.weights);
            scan(whole(rule), block_causal_schedule(64, 16), p.inputs, memory);
            const bool norms = placement != NormPlacement::none;
            for (size_t i = 0; i < memory.weights.size(); ++i) {
              const double shortest = ops::row_norms(p.weights[i]).min().item<double>();
              const double rounding = !norms ? 0 : (type == at::kFloat ? 1e-6 : 1e-14);
              EXPECT_LE(difference(memory.weights[i], p.weights[i]),
                        (norms ? 2 * epsilon / shortest : 0) + rounding)
                  << loss << " muon " << muon << " norms " << norms << " epsilon " << epsilon;
            }
          }
        }
      }
    }
  }
}

TEST(Switchboard, UnderMuonRatesWeighTokensAndDoNotScaleTheStep) {
  at::manual_seed(6);
  SwitchedRule rule = {"", "swiglu", "dot_product", {}};
  rule.update.muon = true, rule.update.norm_placement = NormPlacement::none;
  const SwitchedProblem p = switched_problem(rule, 8);
  const auto step = [&](double factor, double first) {
    ScanInputs inputs = p.inputs;
    for (auto& rate : inputs.rates) {
      rate = rate * factor;
      rate.slice(2, 0, 1).mul_(first);
    }
    Memory memory = start_memory(whole(rule), p.weights);
    scan(whole(rule), full_schedule(8), inputs, memory);
    return memory.weights[1] - p.weights[1];
  };
  EXPECT_LT(difference(step(1000, 1), step(1, 1)), 1e-4);
  EXPECT_GT(difference(step(1, 1000), step(1, 1)), 0.1);
}

TEST(Switchboard, WritesInPiecesTakeOneStep) {
  SwitchedRule rule = {"", "linear", "dot_product", {}};
  rule.update.steps = 0;
  const SwitchedProblem p = switched_problem(rule, 4);
  Memory memory = start_memory(whole(rule), p.weights);
  EXPECT_SENTENCE(scan(whole(rule), full_schedule(4), p.inputs, memory),
                  "a chunk takes 0 steps, expected at least 1");
}

}  // namespace
}  // namespace lact::ttt
