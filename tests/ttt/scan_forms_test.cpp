// Other forms of the scan against the reference's chunk loop: values, the memory that is left and every
// gradient, in float64, where they must be the same but for rounding.
#include "lact/ttt/scan_forms.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>

#include "lact/ops/dispatch/paths.h"
#include "lact/ops/norms/norms.h"
#include "support/errors.h"
#include "support/gradients.h"

namespace lact::ttt {
namespace {

using lact::testing::difference;
using lact::testing::randn;

struct FormCase {
  std::string network = "swiglu", loss = "dot_product";
  UpdateRule update;
  int64_t tokens = 100;
  Schedule schedule;
};

using Form = at::Tensor (*)(const FastWeightRule&, const Schedule&, const ScanInputs&, Memory&);

/// The output, the memory that is left, then all gradients.
std::vector<at::Tensor> results(const FormCase& c, Form form, at::ScalarType type) {
  at::manual_seed(3);
  constexpr int64_t kWidth = 12, kHidden = 20;
  const auto matrix_type = type == at::kDouble ? at::kDouble : at::kFloat;
  std::vector<at::Tensor> leaves;
  const auto leaf = [&](const at::Tensor& x, at::ScalarType as) {
    leaves.push_back(x.to(as).detach().requires_grad_(true));
    return leaves.back();
  };
  const auto tokens = [&] { return randn({2, 2, c.tokens, kWidth}); };
  const FastWeightRule rule = {network(c.network), loss(c.loss), c.update};
  const auto written = written_matrices(rule.network, c.update);
  ScanInputs inputs;
  inputs.q = leaf(ops::l2_normalize(tokens(), 1e-5), type);
  inputs.k = leaf(ops::l2_normalize(tokens(), 1e-5), type);
  inputs.v = leaf(tokens(), type);
  Matrices weights;
  for (const auto& shape : rule.network.matrices(kWidth, kHidden, kWidth)) {
    const at::Tensor rate = at::rand({2, 2, c.tokens, 1}, at::kDouble) * 0.2;
    inputs.rates.push_back(written[weights.size()] ? leaf(rate, matrix_type) : at::Tensor());
    weights.push_back(leaf(randn({2, 2, shape.out, shape.in}) / std::sqrt(double(shape.in)), matrix_type));
  }
  if (c.update.momentum) inputs.beta = leaf(at::rand({2, 2, c.tokens, 1}, at::kDouble), matrix_type);
  inputs.initial_weights = weights;
  Memory memory = start_memory(rule, weights);
  std::vector<at::Tensor> all = {form(rule, c.schedule, inputs, memory)};
  at::Tensor total = (all[0].to(at::kDouble) * randn(all[0].sizes())).sum();
  for (const auto* group : {&memory.weights, &memory.momentum, &memory.accumulated, &memory.anchor}) {
    for (const auto& matrix : *group) {
      if (!matrix.defined()) continue;
      all.push_back(matrix);
      total = total + (matrix.to(at::kDouble) * randn(matrix.sizes())).sum();
    }
  }
  total.backward();
  for (const auto& input : leaves) {
    all.push_back(input.grad().defined() ? input.grad() : at::zeros_like(input));
  }
  return all;
}

double norm_distance(const at::Tensor& a, const at::Tensor& b) {
  const double scale = b.to(at::kDouble).norm().item<double>();
  return (a.to(at::kDouble) - b.to(at::kDouble)).norm().item<double>() / (scale > 0 ? scale : 1);
}

void expect_equal_forms(const FormCase& c, Form form, at::ScalarType type, double tolerance) {
  const auto wanted = results(c, reference::scan, at::kDouble), found = results(c, form, type);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_LT(norm_distance(found[i], wanted[i]), tolerance) << "result " << i;
  }
}

std::vector<std::pair<std::string, UpdateRule>> down_rules() {
  UpdateRule plain, momentum, muon, free, elastic;
  momentum.momentum = true;
  muon.muon = true, muon.norm_placement = NormPlacement::pre;
  free.norm_placement = NormPlacement::none, free.ascent = true, free.steps = 2;
  elastic.elastic.pull = 0.2, elastic.norm_target = NormTarget::previous;
  std::vector<std::pair<std::string, UpdateRule>> all = {
      {"plain", plain}, {"momentum", momentum}, {"muon", muon}, {"free", free}, {"elastic", elastic}};
  for (auto& [name, rule] : all) rule.written = Written::down;
  return all;
}

TEST(ScanForms, DownAloneIsALinearNetworkOverFeatures) {
  for (const auto& [name, rule] : down_rules()) {
    for (const char* loss_name : {"dot_product", "squared_error"}) {
      SCOPED_TRACE(name + ", " + loss_name);
      FormCase c = {"swiglu", loss_name, rule, 100, shifted_schedule(100, 33)};
      expect_equal_forms(c, features::scan, at::kDouble, 1e-9);
      expect_equal_forms(c, ttt::scan, at::kFloat, 5e-4);
      if (!rule.muon) expect_equal_forms(c, ttt::scan, at::kBFloat16, 0.04);
    }
  }
}

TEST(ScanForms, TheParallelFormEqualsTheChunkLoop) {
  UpdateRule rule;
  rule.norm_placement = NormPlacement::none;
  rule.written = Written::down;
  const auto both = [&](const Schedule& schedule, int64_t tokens) {
    for (const char* name : {"linear", "swiglu"}) {
      SCOPED_TRACE(name);
      FormCase c = {name, "dot_product", rule, tokens, schedule};
      const Form form = c.network == "linear" ? linear_attention::scan : features::scan;
      EXPECT_TRUE(linear_attention::fits({network("linear"), loss(c.loss), rule}, schedule));
      expect_equal_forms(c, form, at::kDouble, 1e-10);
      expect_equal_forms(c, ttt::scan, at::kFloat, 1e-4);
      expect_equal_forms(c, ttt::scan, at::kBFloat16, 0.04);
    }
  };
  for (const bool ascent : {false, true}) {
    rule.ascent = ascent, rule.steps = ascent ? 3 : 1;
    for (const int64_t chunk : {1, 7, 16}) {
      SCOPED_TRACE(chunk);
      both(shifted_schedule(40 * chunk, chunk), 40 * chunk);
      both(block_causal_schedule(37, chunk), 37);
    }
  }
  both({{Operation::update, {0, 33}},
        {Operation::apply, {40, 77}},
        {Operation::apply_then_update, {77, 90}},
        {Operation::update_then_apply, {90, 93}},
        {Operation::apply, {0, 7}},
        {Operation::update, {40, 41}}},
       100);
}

TEST(ScanForms, TheParallelFormIsLeftWhereItIsNotExact) {
  UpdateRule rule;
  rule.norm_placement = NormPlacement::none;
  const auto fits = [&](const char* network_name, const char* loss_name, const UpdateRule& update) {
    return linear_attention::fits({network(network_name), loss(loss_name), update},
                                  shifted_schedule(100, 10));
  };
  EXPECT_TRUE(fits("linear", "dot_product", rule));
  EXPECT_FALSE(fits("swiglu", "dot_product", rule));
  EXPECT_FALSE(fits("linear", "squared_error", rule));
  for (const auto change : {+[](UpdateRule& r) { r.momentum = true; }, +[](UpdateRule& r) { r.muon = true; },
                            +[](UpdateRule& r) { r.norm_placement = NormPlacement::post; },
                            +[](UpdateRule& r) { r.elastic.pull = 0.1; }}) {
    UpdateRule changed = rule;
    change(changed);
    EXPECT_FALSE(fits("linear", "dot_product", changed));
  }
}

/// Each document alone, by the reference.
at::Tensor scan_apart(const FastWeightRule& rule, const Schedule& schedule, const ScanInputs& inputs,
                      Memory& memory) {
  std::vector<at::Tensor> outputs;
  std::vector<Schedule> all(1);
  for (const auto& step : schedule) {
    if (step.operation == Operation::restart) {
      all.emplace_back();
    } else {
      all.back().push_back(step);
    }
  }
  for (const auto& own : all) {
    const Range tokens = {own.front().tokens.begin, own.back().tokens.end};
    ScanInputs piece = inputs;
    const auto cut = [&](at::Tensor& x) {
      if (x.defined()) x = x.slice(2, tokens.begin, tokens.end);
    };
    cut(piece.q), cut(piece.k), cut(piece.v), cut(piece.beta);
    for (auto& rate : piece.rates) cut(rate);
    piece.first_query = piece.first_key = tokens.begin;
    memory = start_memory(rule, inputs.initial_weights);
    outputs.push_back(reference::scan(rule, own, piece, memory));
  }
  return at::cat(outputs, 2);
}

TEST(ScanForms, PackedDocumentsEqualDocumentsApart) {
  UpdateRule muon;
  muon.momentum = muon.muon = true;
  UpdateRule down;
  down.written = Written::down, down.norm_placement = NormPlacement::none;
  for (const auto& rule : {UpdateRule(), muon, down}) {
    FormCase c = {"swiglu", "dot_product", rule, 141, packed_schedule({40, 1, 63, 37}, 16)};
    const auto wanted = results(c, scan_apart, at::kDouble);
    for (const Form form : {Form(reference::scan), Form(ttt::scan)}) {
      const auto found = results(c, form, at::kDouble);
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_LT(difference(found[i], wanted[i]), 1e-9) << i;
    }
    expect_equal_forms(c, ttt::scan, at::kFloat, 1e-3);
  }
}

TEST(ScanForms, AScheduleThatRestartsNeedsInitialWeights) {
  const FastWeightRule rule = {network("linear"), loss("dot_product"), {}};
  ScanInputs inputs;
  inputs.q = inputs.k = inputs.v = randn({1, 1, 6, 2});
  inputs.rates = {at::rand({1, 1, 6, 1}, at::kDouble)};
  Memory memory = start_memory(rule, {randn({1, 1, 2, 2})});
  EXPECT_SENTENCE(scan(rule, packed_schedule({3, 3}, 2), inputs, memory),
                  "restarts but the initial weights are missing");
}

}  // namespace
}  // namespace lact::ttt
