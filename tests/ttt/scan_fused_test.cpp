// The fused scan against the reference form in float64: values, every gradient, the memory it leaves.
#include <ATen/ATen.h>

#include "cases/update_rules.h"
#include "support/errors.h"
#include "support/instruction_sets.h"
#include "support/watched_memory.h"
#include "ttt/scan_comparison.h"

namespace lact::ttt {
namespace {

using cases::rules;

using testing::Case;
using testing::FusedProblem;
using testing::make;
using testing::Result;

constexpr testing::Form kFused = {fused::fits, fused::scan};

void expect_same(const Case& c, const UpdateRule& rule, at::ScalarType type, double tolerance,
                 bool recompute = false, bool use_memory = false) {
  testing::expect_same(kFused, c, rule, type, tolerance, recompute, use_memory);
}
Result run_fused(const Case& c, const UpdateRule& rule) {
  return testing::run(c, make(c, rule), rule, at::kFloat, &kFused, false);
}

/// What a rule can do besides momentum, Muon and norms.
std::vector<std::pair<std::string, UpdateRule>> switched() {
  UpdateRule steps, ascent, elastic, all;
  steps.steps = 3;
  ascent.ascent = true;
  elastic.norm_placement = NormPlacement::none;
  elastic.elastic.pull = 0.2;
  all.momentum = all.muon = all.ascent = true;
  all.steps = 2;
  all.elastic.pull = 0.2;
  UpdateRule accumulating = all;
  accumulating.norm_placement = NormPlacement::pre;
  return {{"plain", {}},        {"steps", steps}, {"ascent", ascent},
          {"elastic", elastic}, {"all", all},     {"all, pre-norm", accumulating}};
}

constexpr double kSingle = 2e-4;
/// Newton-Schulz lifts small singular values, and their rounding, up to 490 times.
double half(const UpdateRule& rule) {
  if (!rule.muon) return 0.02;
  return kernels::multiplies_pairs() ? 0.2 : 0.12;
}

/// Instruction sets this processor has; pairs of bfloat16 with the best of them.
class FusedScan : public lact::testing::OnInstructionSet {};
INSTANTIATE_TEST_SUITE_P(Sets, FusedScan,
                         ::testing::Values(kernels::Isa::generic, kernels::Isa::avx2, kernels::Isa::avx512,
                                           kernels::Isa::avx512_bf16, kernels::Isa::amx),
                         lact::testing::isa_of);

TEST_P(FusedScan, EveryRuleInFloat32) {
  for (const auto& [name, rule] : rules()) {
    for (const bool recompute : {false, true}) {
      SCOPED_TRACE(name + (recompute ? ", recompute" : ""));
      expect_same({}, rule, at::kFloat, kSingle, recompute);
    }
  }
}

TEST_P(FusedScan, GradientsOfTheMemoryThatIsLeft) {
  for (const auto& [name, rule] : rules()) {
    SCOPED_TRACE(name);
    expect_same({}, rule, at::kFloat, kSingle, false, true);
  }
}

TEST_P(FusedScan, EveryRuleInBfloat16) {
  for (const bool pairs : {false, true}) {
    kernels::set_multiplies_pairs(pairs);
    for (const auto& [name, rule] : rules()) {
      for (const bool recompute : {false, true}) {
        SCOPED_TRACE(name + (pairs ? ", pairs" : "") + (recompute ? ", recompute" : ""));
        expect_same({}, rule, at::kBFloat16, half(rule), recompute);
      }
    }
  }
}

TEST_P(FusedScan, EveryOptionOfTheRuleWithBothLosses) {
  for (const char* network_name : {"swiglu", "linear"}) {
    for (const char* loss_name : {"dot_product", "squared_error"}) {
      Case c;
      c.network = network_name, c.loss = loss_name;
      for (const auto& [name, rule] : switched()) {
        SCOPED_TRACE(name + ", " + network_name + ", " + loss_name);
        expect_same(c, rule, at::kFloat, 2 * kSingle, /*recompute=*/false, /*use_memory=*/true);
        expect_same(c, rule, at::kFloat, 2 * kSingle, /*recompute=*/true);
        if (!rule.muon) expect_same(c, rule, at::kBFloat16, 0.03);
      }
    }
  }
}

TEST_P(FusedScan, SquaredErrorOfEveryOperationAndOddSizes) {
  Case c = {.tokens = 63, .chunk = 20, .in = 7, .hidden = 11, .out = 5};
  c.loss = "squared_error";
  c.schedule = {{Operation::update, {0, 17}},
                {Operation::apply, {20, 40}},
                {Operation::apply_then_update, {40, 50}},
                {Operation::update_then_apply, {50, 53}},
                {Operation::update, {53, 60}}};
  UpdateRule rule;
  rule.steps = 2;
  expect_same(c, rule, at::kFloat, kSingle);
  c.network = "linear";
  expect_same(c, rule, at::kFloat, kSingle);
}

TEST_P(FusedScan, LinearNetwork) {
  Case c;
  c.network = "linear";
  for (const auto& [name, rule] : rules()) {
    SCOPED_TRACE(name);
    expect_same(c, rule, at::kFloat, kSingle);
  }
  for (const bool pairs : {false, true}) {
    kernels::set_multiplies_pairs(pairs);
    UpdateRule momentum;
    momentum.momentum = true;
    expect_same(c, momentum, at::kBFloat16, half(momentum));
  }
}

TEST_P(FusedScan, OddSizes) {
  UpdateRule rule;
  rule.momentum = rule.muon = true;
  for (const int64_t tokens : {33, 63, 1000}) {
    for (const auto& [in, hidden, out] :
         {std::array<int64_t, 3>{7, 11, 5}, {33, 64, 31}, {64, 1, 64}, {1, 65, 40}}) {
      SCOPED_TRACE(fmt::format("{} tokens, {} {} {}", tokens, in, hidden, out));
      Case c = {
          .batch = 1, .heads = 2, .tokens = tokens, .chunk = 300, .in = in, .hidden = hidden, .out = out};
      expect_same(c, rule, at::kFloat, 1e-3);
      kernels::set_multiplies_pairs(true);
      UpdateRule plain;
      c.in = std::max<int64_t>(c.in, 7);  // a row of one number is all sign
      expect_same(c, plain, at::kBFloat16, 0.03);
    }
  }
}

TEST_P(FusedScan, AllOperationsInOneSchedule) {
  Case c;
  c.schedule = {{Operation::update, {0, 33}},
                {Operation::apply, {40, 77}},
                {Operation::apply_then_update, {77, 90}},
                {Operation::update_then_apply, {90, 93}},
                {Operation::apply, {0, 7}},
                {Operation::update, {40, 41}}};  // tokens 7 to 40 and 93 to 100 are never read
  for (const auto& [name, rule] : rules()) {
    SCOPED_TRACE(name);
    expect_same(c, rule, at::kFloat, kSingle);
    expect_same(c, rule, at::kFloat, kSingle, true);
  }
}

TEST_P(FusedScan, ALastWriteThatNothingReadsHasZeroGradients) {
  Case c;
  c.schedule = {{Operation::apply_then_update, {0, 40}}, {Operation::apply_then_update, {40, 100}}};
  const lact::testing::PoisonedMemory poisoned;  // all tokens are written: their gradients begin as anything
  for (const auto& [name, rule] : rules()) {
    SCOPED_TRACE(name);
    expect_same(c, rule, at::kFloat, kSingle);
  }
}

TEST_P(FusedScan, HugeTinyAndZeroValues) {
  UpdateRule rule;
  rule.muon = true;
  for (const double scale : {1e-12, 1e12, 0.0}) {
    SCOPED_TRACE(scale);
    Case c;
    c.scale = scale;
    const Result found = run_fused(c, rule);
    EXPECT_TRUE(at::isfinite(found.out).all().item<bool>());
    for (const auto& gradient : found.gradients) EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
  }
}

TEST(FusedScanInputs, ViewsOfAProjectionNeedNoCopy) {
  // q, k, v as the layer makes them: heads cut out of one [B, T, 3 H D].
  const Case c;
  const UpdateRule rule;
  FusedProblem p = make(c, rule);
  const Result wanted = run_fused(c, rule);
  at::Tensor joined = at::empty({c.batch, c.tokens, 3, c.heads, c.in});
  const std::array<at::Tensor, 3> parts = {p.inputs.q, p.inputs.k, p.inputs.v};
  for (int64_t i = 0; i < 3; ++i) joined.select(2, i).copy_(parts[size_t(i)].transpose(1, 2));
  p.inputs.q = joined.select(2, 0).transpose(1, 2);
  p.inputs.k = joined.select(2, 1).transpose(1, 2);
  p.inputs.v = joined.select(2, 2).transpose(1, 2);
  for (auto& rate : p.inputs.rates) rate = rate.to(at::kFloat);
  for (auto& weight : p.weights) weight = weight.to(at::kFloat);
  Memory memory = start_memory(rule, p.weights);
  const at::Tensor out =
      fused::scan({network("swiglu"), loss("dot_product"), rule}, p.schedule, p.inputs, memory);
  EXPECT_TRUE(at::equal(out, wanted.out));
}

TEST(FusedScanInputs, SameBitsEveryTime) {
  UpdateRule rule;
  rule.momentum = rule.muon = true;
  const Case c = {.tokens = 777, .chunk = 600, .in = 40, .hidden = 72, .out = 40};
  const Result first = run_fused(c, rule);
  for (int i = 0; i < 3; ++i) {
    const Result again = run_fused(c, rule);
    EXPECT_TRUE(at::equal(again.out, first.out));
    for (size_t g = 0; g < first.gradients.size(); ++g) {
      EXPECT_TRUE(at::equal(again.gradients[g], first.gradients[g])) << g;
    }
  }
}

TEST(FusedScanInputs, LeavesWhatItDoesNotKnowToTheReference) {
  const Case c;
  const FusedProblem p = make(c, {});
  const auto fits = [&](ScanInputs inputs, const FastWeightRule& rule, at::ScalarType type) {
    for (auto* x : {&inputs.q, &inputs.k, &inputs.v}) *x = x->to(type);
    Matrices weights;
    for (const auto& weight : p.weights)
      weights.push_back(weight.to(type == at::kDouble ? type : at::kFloat));
    return fused::fits(rule, p.schedule, inputs, start_memory(rule.update, weights));
  };
  const FastWeightRule plain = {network("swiglu"), loss("dot_product"), {}};
  EXPECT_TRUE(fits(p.inputs, plain, at::kFloat));
  EXPECT_FALSE(fits(p.inputs, plain, at::kDouble));
  EXPECT_TRUE(fits(p.inputs, {network("swiglu"), loss("squared_error"), {}}, at::kFloat));
  ScanInputs down_alone = p.inputs;
  down_alone.rates[0] = down_alone.rates[2] = at::Tensor();
  EXPECT_FALSE(fits(down_alone, plain, at::kFloat));
  ScanInputs channels = p.inputs;
  for (auto& rate : channels.rates) rate = rate.expand({-1, -1, -1, c.in});
  EXPECT_FALSE(fits(channels, plain, at::kFloat));
  UpdateRule rounding;
  rounding.muon = true;
  rounding.newton_schulz.iteration_type = ops::IterationType::bfloat16;
  EXPECT_FALSE(fits(p.inputs, {network("swiglu"), loss("dot_product"), rounding}, at::kFloat));
}

TEST(FusedScanInputs, ASecondBackwardPassIsRefused) {
  const Case c;
  FusedProblem p = make(c, {});
  for (auto& [name, tensor] : p.named()) *tensor = tensor->to(at::kFloat).requires_grad_(true);
  Memory memory = start_memory({}, p.weights);
  const at::Tensor out =
      fused::scan({network("swiglu"), loss("dot_product"), {}}, p.schedule, p.inputs, memory).sum();
  out.backward({}, /*retain_graph=*/true);
  EXPECT_ANY_THROW(out.backward());
}

}  // namespace
}  // namespace lact::ttt
