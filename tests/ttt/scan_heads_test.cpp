// The scan of small chunks, head by head, against the reference form in float64.
#include "support/errors.h"
#include "support/instruction_sets.h"
#include "support/watched_memory.h"
#include "ttt/scan_comparison.h"

namespace lact::ttt::heads {
namespace {

using testing::Case;

constexpr testing::Form kHeads = {fits, scan};
constexpr double kFloatTolerance = 2e-4, kBfloat16Tolerance = 0.03;

void expect_like_reference(const Case& c, const UpdateRule& rule, at::ScalarType type, double tolerance,
                           bool recompute = false, bool use_memory = false) {
  testing::expect_same(kHeads, c, rule, type, tolerance, recompute, use_memory);
}

/// The networks that have passes over the tokens of a head, each with both losses.
std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const char* network : {"ttt_linear", "ttt_mlp"}) {
    for (const char* loss : {"squared_error", "dot_product"}) {
      cases.push_back({.network = network,
                       .batch = 1,
                       .heads = 2,
                       .tokens = 64,
                       .chunk = 16,
                       .rate = 0.02,
                       .loss = loss});
    }
  }
  return cases;
}
std::string name_of(const Case& c) { return c.network + ", " + c.loss; }

UpdateRule original() {
  UpdateRule rule;
  rule.norm_placement = NormPlacement::none;
  return rule;
}

std::vector<std::pair<std::string, UpdateRule>> options() {
  UpdateRule norms, momentum = original(), both, steps = original(), ascent = original(), down = original();
  momentum.momentum = both.momentum = true;
  // A bias is rows of one number, whose norm keeps nothing but the sign: an ε that rounds the corner.
  norms.norm_epsilon = both.norm_epsilon = 0.1;
  steps.steps = 3;
  ascent.ascent = true;
  down.written = Written::down;
  UpdateRule all = both;
  all.steps = 2;
  all.ascent = true;
  return {{"original", original()}, {"norms", norms},   {"momentum", momentum}, {"momentum, norms", both},
          {"steps", steps},         {"ascent", ascent}, {"down alone", down},   {"all", all}};
}

class HeadScan : public lact::testing::OnInstructionSet {};
INSTANTIATE_TEST_SUITE_P(Sets, HeadScan,
                         ::testing::Values(kernels::Isa::generic, kernels::Isa::avx2, kernels::Isa::avx512,
                                           kernels::Isa::avx512_bf16, kernels::Isa::amx),
                         lact::testing::isa_of);

TEST_P(HeadScan, EveryRuleInFloat32) {
  for (const Case& c : cases()) {
    for (const auto& [name, rule] : options()) {
      for (const bool recompute : {false, true}) {
        SCOPED_TRACE(name_of(c) + ", " + name + (recompute ? ", recompute" : ""));
        expect_like_reference(c, rule, at::kFloat, kFloatTolerance, recompute, /*use_memory=*/true);
      }
    }
  }
}

TEST_P(HeadScan, EveryRuleInBfloat16) {
  for (const bool pairs : {false, true}) {
    kernels::set_multiplies_pairs(pairs);
    for (Case c : cases()) {
      c.rate = 0.005;  // uphill, what was rounded grows from chunk to chunk
      for (const auto& [name, rule] : options()) {
        SCOPED_TRACE(name_of(c) + ", " + name + (pairs ? ", pairs" : ""));
        expect_like_reference(c, rule, at::kBFloat16, kBfloat16Tolerance);
      }
    }
  }
}

TEST_P(HeadScan, OddSizesAndChunksOfSeveralBlocks) {
  for (Case c : cases()) {
    for (const auto& [tokens, chunk, width, hidden] :
         {std::array<int64_t, 4>{33, 1, 7, 11}, {250, 240, 33, 64}, {70, 64, 64, 1}, {40, 7, 5, 65}}) {
      c.batch = 1, c.heads = 2, c.tokens = tokens, c.chunk = chunk;
      c.in = c.out = width, c.hidden = hidden;
      SCOPED_TRACE(fmt::format("{}: {} tokens by {}, {} {}", name_of(c), tokens, chunk, width, hidden));
      c.rate = chunk > 100 ? 0.005 : 0.05;
      expect_like_reference(c, original(), at::kFloat, kFloatTolerance);
      if (width > 7) expect_like_reference(c, original(), at::kBFloat16, kBfloat16Tolerance);
    }
  }
}

TEST_P(HeadScan, AllOperationsInOneSchedule) {
  const lact::testing::PoisonedMemory poisoned;
  for (Case c : cases()) {
    c.batch = 2, c.tokens = 100;
    c.schedule = {{Operation::update, {0, 33}},
                  {Operation::apply, {40, 77}},
                  {Operation::apply_then_update, {77, 90}},
                  {Operation::update_then_apply, {90, 93}},
                  {Operation::apply, {0, 7}},
                  {Operation::update, {40, 41}}};  // tokens 7 to 40 and 93 to 100 are never read
    for (const auto& [name, rule] : options()) {
      SCOPED_TRACE(name_of(c) + ", " + name);
      expect_like_reference(c, rule, at::kFloat, kFloatTolerance);
      expect_like_reference(c, rule, at::kFloat, kFloatTolerance, true);
    }
  }
}

TEST(HeadScanChoice, TakesTheOriginalRegimeAndLeavesTheRestToTheReference) {
  const auto taken = [](const char* network_name, const UpdateRule& update, at::ScalarType type) {
    Case c;
    c.network = network_name;
    testing::FusedProblem p = testing::make(c, update);
    for (auto& [name, tensor] : p.named()) *tensor = tensor->to(type);
    const FastWeightRule rule = {network(network_name), loss("squared_error"), update};
    return fits(rule, p.schedule, p.inputs, start_memory(rule, p.weights));
  };
  EXPECT_TRUE(taken("ttt_linear", original(), at::kFloat));
  EXPECT_TRUE(taken("ttt_mlp", original(), at::kFloat));
  EXPECT_FALSE(taken("ttt_linear", original(), at::kDouble));
  EXPECT_FALSE(taken("swiglu", original(), at::kFloat));
  UpdateRule muon, previous, pre, elastic;
  muon.muon = true;
  previous.norm_target = NormTarget::previous;
  pre.norm_placement = NormPlacement::pre;
  elastic.elastic.pull = 0.1;
  for (const UpdateRule& rule : {muon, previous, pre, elastic})
    EXPECT_FALSE(taken("ttt_mlp", rule, at::kFloat));
}

TEST(HeadScanChoice, ScanTakesItAndGivesTheSameBitsEveryTime) {
  for (const Case& c : cases()) {
    const auto run = [&](const testing::Form& form) {
      return testing::run(c, testing::make(c, original()), original(), at::kFloat, &form, false);
    };
    const testing::Result wanted = run(kHeads), found = run({fits, ttt::scan});
    EXPECT_TRUE(at::equal(found.out, wanted.out)) << name_of(c);
    for (size_t i = 0; i < wanted.gradients.size(); ++i) {
      EXPECT_TRUE(at::equal(found.gradients[i], wanted.gradients[i])) << name_of(c) << ", " << i;
    }
  }
}

}  // namespace
}  // namespace lact::ttt::heads
