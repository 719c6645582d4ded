// The kernels' forms of the recurrences equal the recurrence as it is written: values and every gradient.
#include "lact/base/threads.h"
#include "lact/ops/dispatch/paths.h"
#include "support/instruction_sets.h"
#include "support/recurrences.h"

namespace lact::ops {
namespace {

using namespace lact::testing;

std::string named(const RecurrenceForms& forms, const RecurrenceSizes& sizes, const std::string& more = "") {
  return forms.name + ", " + std::to_string(sizes.tokens) + " tokens, " + std::to_string(sizes.width) + "x" +
         std::to_string(sizes.value_width) + " " + more;
}

/// The reference in float64 on the same numbers.
RecurrenceValues truth(const RecurrenceForms& forms, const RecurrenceTensors& in) {
  return values_and_gradients(forms.reference, widened(in));
}

TEST(RecurrencesFused, EqualTheRecurrenceInFloat32) {
  for (const auto& forms : recurrences()) {
    for (const RecurrenceSizes& sizes : std::vector<RecurrenceSizes>{{1, 12, 20},
                                                                     {15, 20, 12},
                                                                     {16, 32, 64},
                                                                     {63, 12, 33},
                                                                     {64, 16, 16},
                                                                     {65, 20, 40},
                                                                     {100, 128, 64, 1, 2},
                                                                     {1000, 24, 40},
                                                                     {300, 260, 36, 1, 1}}) {
      const auto in = recurrence_inputs(forms, sizes, at::kFloat);
      expect_equal(values_and_gradients(forms.own, in), truth(forms, in), 2e-5, named(forms, sizes));
    }
  }
}

TEST(RecurrencesFused, EqualTheRecurrenceOnEveryInstructionSet) {
  for (const auto& forms : recurrences()) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      const RecurrenceSizes sizes = {150, 20, 36};
      const auto in = recurrence_inputs(forms, sizes, type);
      const RecurrenceValues expected = truth(forms, in);
      for_each_isa_and_pairs([&](const std::string& isa) {
        const RecurrenceValues own = values_and_gradients(forms.own, in);
        EXPECT_EQ(own.tensors[0].scalar_type(), type);
        EXPECT_EQ(own.tensors[2].scalar_type(), type);
        expect_equal(own, expected, type == at::kFloat ? 2e-5 : 0.03, named(forms, sizes, isa));
      });
    }
  }
}

TEST(RecurrencesFused, AreCloseInBfloat16AtEveryLength) {
  for (const auto& forms : recurrences()) {
    for (const int64_t tokens : {1, 15, 16, 63, 64, 65, 100, 1000}) {
      const RecurrenceSizes sizes = {tokens, 20, 12};
      const auto in = recurrence_inputs(forms, sizes, at::kBFloat16);
      expect_equal(values_and_gradients(forms.own, in), truth(forms, in), 0.03, named(forms, sizes));
    }
  }
}

TEST(RecurrencesFused, NoDecayAndVeryStrongDecayAreExact) {
  for (const auto& forms : recurrences()) {
    if (!forms.gate_is_log_decay) continue;
    for (const double decay : {0.0, -0.5, -5.0, -50.0, -1e4}) {
      for (const auto type : {at::kFloat, at::kBFloat16}) {
        const bool f32 = type == at::kFloat;
        auto in = recurrence_inputs(forms, {150, 20, 8}, type);
        const std::string name = forms.name + ", decay " + std::to_string(decay);
        const auto expect_right = [&](double tolerance, const std::string& when) {
          expect_equal(values_and_gradients(forms.own, in), truth(forms, in), tolerance, name + when, 0.1);
        };
        in.gate.fill_(decay);
        expect_right(f32 ? 1e-4 : 0.03, "");
        // Tokens that keep everything between tokens that forget everything.
        in.gate.slice(2, 0, 150, 3).fill_(0);
        expect_right(f32 ? 1e-3 : 0.03, " at times");
      }
    }
  }
}

TEST(RecurrencesFused, SharesOfZeroAndTwoAreExact) {
  const auto forms = recurrences()[1];
  for (const double beta : {0.0, 1.0, 2.0}) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      auto in = recurrence_inputs(forms, {150, 20, 24}, type);
      in.gate.fill_(beta);
      expect_equal(values_and_gradients(forms.own, in), truth(forms, in), type == at::kFloat ? 1e-4 : 0.05,
                   "beta " + std::to_string(beta));
    }
  }
}

TEST(RecurrencesFused, StayFiniteInBfloat16Over32KTokens) {
  for (const auto& forms : recurrences()) {
    auto in = recurrence_inputs(forms, {32768, 16, 16, 1}, at::kBFloat16);
    // Half of the sequence at each end of the gate.
    in.gate.slice(2, 0, 16384).fill_(0);
    if (forms.gate_is_log_decay) {
      in.gate.slice(2, 16384).fill_(-8);
    } else {
      in.gate.slice(2, 16384).fill_(2);
    }
    const RecurrenceValues own = values_and_gradients(forms.own, in);
    for (size_t i = 0; i < own.tensors.size(); ++i) {
      EXPECT_TRUE(at::isfinite(own.tensors[i]).all().item<bool>())
          << forms.name << ", " << RecurrenceValues::kNames[i];
    }
  }
}

TEST(RecurrencesFused, ReadAnyStrides) {
  for (const auto& forms : recurrences()) {
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      auto in = recurrence_inputs(forms, {130, 16, 16}, type);
      const RecurrenceValues expected = truth(forms, in);
      // Heads beside each other in one wide projection, and channels that are not contiguous.
      const at::Tensor joint = at::cat({in.q, in.k, in.v}, 3).transpose(1, 2).contiguous().transpose(1, 2);
      in.q = joint.narrow(3, 0, 16), in.k = joint.narrow(3, 16, 16), in.v = joint.narrow(3, 32, 16);
      in.v = in.v.transpose(2, 3).contiguous().transpose(2, 3);
      in.gate = in.gate.transpose(1, 2).contiguous().transpose(1, 2);
      in.state = in.state.transpose(2, 3).contiguous().transpose(2, 3);
      EXPECT_FALSE(in.q.is_contiguous() || in.v.is_contiguous() || in.state.is_contiguous());
      expect_equal(values_and_gradients(forms.own, in), expected, type == at::kFloat ? 2e-5 : 0.03,
                   forms.name);
    }
  }
}

TEST(RecurrencesFused, OneHeadOfKeysServesAllHeadsOfSsd) {
  const auto forms = recurrences()[2];
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    auto in = recurrence_inputs(forms, {100, 12, 8, 3, 2}, type);
    in.q = in.q.narrow(1, 0, 1), in.k = in.k.narrow(1, 0, 1);
    expect_equal(values_and_gradients(forms.own, in), truth(forms, in), type == at::kFloat ? 2e-5 : 0.03,
                 "one head of keys");
    at::NoGradGuard no_grad;
    const auto first = [](const at::Tensor& x) { return x.narrow(2, 0, 1); };
    const RecurrenceTensors one = {first(in.q), first(in.k), first(in.v), first(in.gate), in.state};
    EXPECT_LT(difference(forms.own(one).state, forms.reference(widened(one)).state), 1e-6);
  }
}

TEST(RecurrencesFused, GradientsOfOnlyTheOutputOrOnlyTheState) {
  for (const auto& forms : recurrences()) {
    const auto in = recurrence_inputs(forms, {70, 8, 8}, at::kFloat);
    for (const bool of_state : {false, true}) {
      const auto gradient = [&](const Recurrence& recurrence, const RecurrenceTensors& x) {
        RecurrenceTensors leaves = x;
        leaves.k = x.k.detach().requires_grad_(true);
        const RecurrenceResult result = recurrence(leaves);
        (of_state ? result.state : result.out).pow(2).sum().backward();
        return leaves.k.grad();
      };
      EXPECT_LT(difference(gradient(forms.own, in), gradient(forms.reference, widened(in))), 2e-5)
          << forms.name;
    }
  }
}

TEST(RecurrencesFused, AreTheSameOnAnyNumberOfThreads) {
  const int before = threads_in_use();
  for (const auto& forms : recurrences()) {
    // One head on three threads shares out the value columns.
    const auto in = recurrence_inputs(forms, {200, 16, 200, 1}, at::kFloat);
    const RecurrenceValues expected = truth(forms, in);
#if !defined(__SANITIZE_THREAD__)  // which takes LibTorch's own threads for a race, and brings four of ours
    use_threads(3);
#endif
    const RecurrenceValues first = values_and_gradients(forms.own, in),
                           second = values_and_gradients(forms.own, in);
    use_threads(before);
    expect_equal(first, expected, 2e-5, forms.name + ", threads");
    for (size_t i = 0; i < first.tensors.size(); ++i) {
      EXPECT_TRUE(first.tensors[i].equal(second.tensors[i])) << forms.name << RecurrenceValues::kNames[i];
    }
  }
}

TEST(RecurrencesFused, StatesTooLargeToKeepAreMadeAgain) {
  const int before = threads_in_use();
  for (const auto& forms : recurrences()) {
    const auto in = recurrence_inputs(forms, {200, 200, 400, 1}, at::kFloat);
    const RecurrenceValues expected = truth(forms, in);
    use_threads(1);  // more would share out the value columns, and with them the state
    const RecurrenceValues own = values_and_gradients(forms.own, in);
    use_threads(before);
    expect_equal(own, expected, 2e-5, forms.name);
  }
}

TEST(RecurrencesFused, NotANumberIsNotHidden) {
  for (const auto& forms : recurrences()) {
    for (int which = 0; which < 2; ++which) {
      const auto in = recurrence_inputs(forms, {150, 8, 8, 1}, at::kFloat);
      (which == 0 ? in.gate : in.k).select(2, 80).fill_(std::nan(""));
      const at::Tensor bad = forms.own(in).out.isnan().any(3).flatten();
      // Other tokens of its chunk may see it too.
      EXPECT_FALSE(bad.slice(0, 0, 64).any().item<bool>()) << forms.name;
      EXPECT_TRUE(bad.slice(0, 81).all().item<bool>()) << forms.name;
    }
  }
}

}  // namespace
}  // namespace lact::ops
