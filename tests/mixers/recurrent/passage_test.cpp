#include "lact/mixers/recurrent/passage.h"

#include <ATen/ATen.h>

#include "support/errors.h"

namespace lact::recurrent {
namespace {

/// A state that is the sum of all values, and every token reads it: S_t = S_{t-1} + v_t, o_t = S_t. Counts
/// its calls.
struct Summing {
  int calls = 0;
  Recurrence recurrence() {
    return {[this](const Tokens& tokens, const at::Tensor& state) {
              ++calls;
              const at::Tensor out = state + tokens.v.cumsum(2);
              return ops::RecurrenceResult{out, out.narrow(2, out.size(2) - 1, 1)};
            },
            3};
  }
};

SequenceLayout layout_of(std::vector<Stretch> stretches, int64_t begin = 0) {
  SequenceLayout layout;
  layout.begin = begin;
  layout.tokens = stretches.back().tokens.end - begin;
  layout.stretches = std::move(stretches);
  return layout;
}

Tokens numbered(int64_t count) {
  const at::Tensor v = at::arange(1, count + 1, at::kDouble).view({1, 1, count, 1});
  return {at::ones_like(v), v, v, v.squeeze(-1)};
}

std::vector<double> numbers(const at::Tensor& x) {
  const at::Tensor flat = x.to(at::kDouble).flatten().contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

TEST(Passage, EveryStretchDoesToTheStateWhatItSays) {
  Summing summing;
  at::Tensor state = at::zeros({1, 1, 1, 1}, at::kDouble);
  const auto layout = layout_of({{{0, 2}, Passage::reverted},
                                 {{2, 4}, Passage::reverted},
                                 {{4, 6}, Passage::remembered},
                                 {{6, 8}, Passage::read_only},
                                 {{8, 9}, Passage::remembered}});
  const at::Tensor out =
      pass_over(summing.recurrence(), numbered(9), layout, Direction::left_to_right, state);
  // 1 2 | 3 4 | 5 6 | read 3 x 11 | 9
  EXPECT_EQ(numbers(out), (std::vector<double>{1, 3, 3, 7, 5, 11, 33, 33, 20}));
  EXPECT_EQ(numbers(state), std::vector<double>{20});
}

TEST(Passage, FromRightToLeftEachStretchIsTurnedAround) {
  Summing summing;
  at::Tensor state = at::zeros({1, 1, 1, 1}, at::kDouble);
  const auto layout = layout_of({{{0, 3}, Passage::remembered}, {{3, 5}, Passage::read_only}});
  const at::Tensor out =
      pass_over(summing.recurrence(), numbered(5), layout, Direction::right_to_left, state);
  EXPECT_EQ(numbers(out), (std::vector<double>{6, 5, 3, 18, 18}));
}

TEST(Passage, NeighboursOfOnePassageCostOneCall) {
  const auto calls = [](std::vector<Stretch> stretches) {
    Summing summing;
    at::Tensor state = at::zeros({1, 1, 1, 1}, at::kDouble);
    const auto layout = layout_of(std::move(stretches));
    pass_over(summing.recurrence(), numbered(layout.tokens), layout, Direction::left_to_right, state);
    return summing.calls;
  };
  EXPECT_EQ(calls({{{0, 3}}, {{3, 4}}, {{4, 9}}}), 1);
  EXPECT_EQ(calls({{{0, 3}}, {{3, 4}, Passage::read_only}, {{4, 9}}}), 2);
  EXPECT_EQ(calls({{{0, 3}, Passage::reverted}, {{3, 6}, Passage::reverted}}), 2);
}

TEST(Passage, StretchesAreCountedFromThePiecesFirstToken) {
  const auto joined = joined_stretches(layout_of({{{7, 9}}, {{9, 12}}, {{12, 13}, Passage::reverted}}, 7));
  EXPECT_EQ(joined, (std::vector<Stretch>{{{0, 5}}, {{5, 6}, Passage::reverted}}));
}

TEST(Passage, MistakesGetASentence) {
  EXPECT_SENTENCE(joined_stretches(layout_of({{{0, 3}}, {{4, 6}}})),
                  "go on with tokens 4 to 6, expected token 3");
  EXPECT_SENTENCE(joined_stretches(layout_of({{{0, 0}}, {{0, 6}}})), "go on with tokens 0 to 0");
  SequenceLayout layout = layout_of({{{0, 3}}});
  layout.tokens = 5;
  EXPECT_SENTENCE(joined_stretches(layout), "end at token 3 but its tokens at 5");
  layout.stretches.clear();
  EXPECT_SENTENCE(joined_stretches(layout), "end at token 0 but its tokens at 5");
  Summing summing;
  at::Tensor state = at::zeros({2, 1, 1, 1}, at::kDouble);
  EXPECT_SENTENCE(
      pass_over(summing.recurrence(), numbered(3), layout_of({{{0, 3}}}), Direction::left_to_right, state),
      "the state is of a batch of 2 but the tokens are of one of 1");
}

}  // namespace
}  // namespace lact::recurrent
