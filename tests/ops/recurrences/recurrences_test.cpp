// The recurrences as functions: forms that treat a chunk at once equal the recurrence as it is written.
#include "support/recurrences.h"
#include "lact/ops/dispatch/paths.h"
#include "support/errors.h"

namespace lact::ops {
namespace {

using namespace lact::testing;

at::Tensor joined(const RecurrenceResult& result) {
  return at::cat({result.out.flatten(), result.state.flatten()});
}

/// Runs pieces cut at the given tokens, the state passed on.
RecurrenceResult in_pieces(const Recurrence& recurrence, const RecurrenceTensors& in,
                           const std::vector<int64_t>& cuts) {
  RecurrenceResult result = {{}, in.state};
  std::vector<at::Tensor> rows;
  int64_t begin = 0;
  for (const int64_t end : cuts) {
    const auto piece = [&](const at::Tensor& x) { return x.slice(2, begin, end); };
    const RecurrenceResult part =
        recurrence({piece(in.q), piece(in.k), piece(in.v), piece(in.gate), result.state});
    rows.push_back(part.out);
    result.state = part.state;
    begin = end;
  }
  result.out = at::cat(rows, 2);
  return result;
}

TEST(Recurrences, ChunksEqualTheRecurrence) {
  for (const auto& forms : recurrences()) {
    for (const int64_t tokens : {1, 15, 16, 63, 64, 65, 100, 333}) {
      const auto in = recurrence_inputs(forms, {tokens, 12, 20}, at::kDouble);
      expect_equal(values_and_gradients(forms.chunked, in), values_and_gradients(forms.reference, in), 1e-10,
                   forms.name + ", " + std::to_string(tokens) + " tokens");
    }
  }
}

TEST(Recurrences, ChunksHaveTheGradientsOfFiniteDifferences) {
  for (const auto& forms : recurrences()) {
    SCOPED_TRACE(forms.name);
    const auto in = recurrence_inputs(forms, {70, 3, 5}, at::kDouble);
    expect_gradients(
        [&](const std::vector<at::Tensor>& x) {
          return joined(forms.chunked({x[0], x[1], x[2], -x[3].abs() - 0.01, x[4]}));
        },
        {in.q, in.k, in.v, in.gate.abs() + 0.05, in.state}, 1e-5);
  }
}

TEST(Recurrences, NoDecayAndVeryStrongDecayAreExactInChunks) {
  for (const auto& forms : recurrences()) {
    if (!forms.gate_is_log_decay) continue;
    for (const double decay : {0.0, -50.0, -1000.0}) {
      auto in = recurrence_inputs(forms, {100, 8, 8}, at::kFloat);
      in.gate.fill_(decay);
      expect_equal(values_and_gradients(forms.chunked, in),
                   values_and_gradients(forms.reference, widened(in)), 1e-4, forms.name);
      // Tokens that keep everything between tokens that forget everything.
      in.gate.slice(2, 0, 100, 3).fill_(0);
      expect_equal(values_and_gradients(forms.chunked, in),
                   values_and_gradients(forms.reference, widened(in)), 1e-3, forms.name);
    }
  }
}

TEST(Recurrences, BetaOfZeroChangesNothingAndOfTwoReflects) {
  for (const auto& forms : recurrences()) {
    if (forms.gate_is_log_decay) continue;
    auto in = recurrence_inputs(forms, {130, 16, 8}, at::kFloat);
    in.gate.fill_(0);
    EXPECT_LT(difference(forms.own(in).state, in.state), 1e-7);
    in.gate.fill_(2);
    in.v.fill_(0);
    // Without values a reflection keeps the length of every column.
    EXPECT_LT(difference(forms.own(in).state.norm(2, -2), in.state.norm(2, -2)), 1e-4);
  }
}

TEST(Recurrences, PiecesCutAnywhereEqualTheWhole) {
  for (const auto& forms : recurrences()) {
    for (const bool fused : {true, false}) {
      set_fused_paths(fused);
      const auto in = recurrence_inputs(forms, {200, 20, 12}, at::kFloat);
      const RecurrenceResult whole = forms.own(in),
                             pieces = in_pieces(forms.own, in, {1, 3, 64, 65, 130, 200});
      EXPECT_LT(difference(pieces.out, whole.out), 1e-5) << forms.name << fused;
      EXPECT_LT(difference(pieces.state, whole.state), 1e-5) << forms.name << fused;
    }
    set_fused_paths(true);
  }
}

TEST(Recurrences, OneTokenAtATimeEqualsTheWhole) {
  at::NoGradGuard no_grad;
  for (const auto& forms : recurrences()) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const auto in = recurrence_inputs(forms, {70, 20, 33}, type);
      std::vector<int64_t> cuts(70);
      for (int64_t i = 0; i < 70; ++i) cuts[size_t(i)] = i + 1;
      const RecurrenceResult whole = forms.reference(widened(in)), steps = in_pieces(forms.own, in, cuts);
      EXPECT_EQ(steps.out.scalar_type(), type);
      EXPECT_EQ(steps.state.scalar_type(), at::kFloat);
      EXPECT_LT(difference(steps.out, whole.out), type == at::kFloat ? 1e-5 : 0.01) << forms.name;
      EXPECT_LT(difference(steps.state, whole.state), 1e-5) << forms.name;
    }
  }
}

TEST(Recurrences, NoTokenLeavesTheStateAsItWas) {
  for (const auto& forms : recurrences()) {
    const auto in = recurrence_inputs(forms, {0, 4, 6}, at::kFloat);
    const RecurrenceResult result = forms.own(in);
    EXPECT_EQ(result.out.sizes(), in.v.sizes());
    EXPECT_TRUE(result.state.equal(in.state));
  }
}

TEST(Recurrences, OneHeadOfKeysServesAllHeadsOfSsd) {
  const auto forms = recurrences()[2];
  auto in = recurrence_inputs(forms, {100, 12, 8, 3}, at::kDouble);
  in.q = in.q.narrow(1, 0, 1), in.k = in.k.narrow(1, 0, 1);
  const auto expected = values_and_gradients(forms.reference, in);
  expect_equal(values_and_gradients(forms.chunked, in), expected, 1e-10, "one head of keys");
  EXPECT_EQ(expected.tensors[2].size(1), 1);
}

TEST(Recurrences, WhatDoesNotFitGivesASentence) {
  for (const auto& forms : recurrences()) {
    const auto good = recurrence_inputs(forms, {5, 4, 6}, at::kFloat);
    const auto with = [&](auto change) {
      auto in = good;
      change(in);
      return in;
    };
    const std::string tag = "[" + forms.name + "] ";
    EXPECT_SENTENCE(forms.own(with([](auto& in) {
      in.q = at::randn({1, 3, 5, 4});
    })),
                    tag + "q has 3 heads but v has 2");
    EXPECT_SENTENCE(forms.own(with([](auto& in) {
      in.k = at::randn({1, 2, 6, 4});
    })),
                    tag + "k has 6 tokens but v has 5");
    EXPECT_SENTENCE(forms.own(with([](auto& in) {
      in.k = at::randn({1, 2, 5, 7});
    })),
                    tag + "q is 4 wide but k is 7");
    EXPECT_SENTENCE(forms.own(with([](auto& in) { in.v = in.v[0]; })), tag + "v has shape [2, 5, 6]");
    EXPECT_SENTENCE(forms.own(with([](auto& in) {
      in.state = at::zeros({1, 2, 6, 4});
    })),
                    tag + "the state has shape [1, 2, 6, 4], expected [1, 2, 4, 6]");
    EXPECT_SENTENCE(forms.own(with([](auto& in) { in.gate = in.gate.narrow(2, 0, 4); })),
                    "expected [1, 2, 5");
    EXPECT_SENTENCE(forms.own(with([](auto& in) { in.state = in.state.to(at::kBFloat16); })),
                    "expected float32 or float64");
    EXPECT_SENTENCE(forms.own(with([](auto& in) { in.v = in.v.to(at::kDouble); })), "expected one type");
    if (!forms.gate_is_log_decay) continue;
    EXPECT_SENTENCE(forms.own(with([](auto& in) { in.gate = in.gate.clone().fill_(0.5); })),
                    "log_decay reaches 0.5, expected at most 0");
  }
}

}  // namespace
}  // namespace lact::ops
