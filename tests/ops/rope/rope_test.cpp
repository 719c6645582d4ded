#include "lact/ops/rope/rope.h"

#include "support/errors.h"
#include "support/gradients.h"
#include "support/positions.h"

namespace lact::ops {
namespace {

using lact::testing::line;

using lact::testing::difference;
using lact::testing::expect_gradients;
using lact::testing::randn;

TEST(Rope, FirstTokenIsUnchangedAndLengthsAreKept) {
  at::manual_seed(1);
  const at::Tensor x = randn({2, 5, 3, 8});
  for (const auto pairs : {RopePairs::halves, RopePairs::neighbours}) {
    const at::Tensor rotated = rope(x, rope_table(line(0, 5), 8, {100, pairs}), pairs);
    EXPECT_LT(difference(rotated.select(1, 0), x.select(1, 0)), 1e-12);
    EXPECT_LT(difference(rotated.norm(2, -1), x.norm(2, -1)), 1e-12);
    EXPECT_GT(difference(rotated.select(1, 4), x.select(1, 4)), 0.1);
  }
}

TEST(Rope, PairTurnsByPositionTimesFrequency) {
  // Channel pair 1 of 3 turns by p · base^(-1/3).
  at::Tensor x = at::zeros({1, 1, 1, 6}, at::kDouble);
  x[0][0][0][1] = 1;
  const double angle = 7 * std::pow(100.0, -1.0 / 3);
  const at::Tensor halves =
      rope(x, rope_table(line(7, 8), 6, {100, RopePairs::halves}), RopePairs::halves)[0][0][0];
  EXPECT_NEAR(halves[1].item<double>(), std::cos(angle), 1e-12);
  EXPECT_NEAR(halves[4].item<double>(), std::sin(angle), 1e-12);

  x.zero_();
  x[0][0][0][2] = 1;
  const at::Tensor neighbours =
      rope(x, rope_table(line(7, 8), 6, {100, RopePairs::neighbours}), RopePairs::neighbours)[0][0][0];
  EXPECT_NEAR(neighbours[2].item<double>(), std::cos(angle), 1e-12);
  EXPECT_NEAR(neighbours[3].item<double>(), std::sin(angle), 1e-12);
}

TEST(Rope, ScoresDependOnDistanceOnly) {
  at::manual_seed(2);
  const at::Tensor q = randn({1, 1, 1, 12}), k = randn({1, 1, 1, 12});
  const auto score = [&](const at::Tensor& at_q, const at::Tensor& at_k) {
    const RopeOptions options = {50, RopePairs::neighbours};
    return (rope(q, rope_table(at_q, 12, options), options.pairs) *
            rope(k, rope_table(at_k, 12, options), options.pairs))
        .sum()
        .item<double>();
  };
  EXPECT_NEAR(score(line(9, 10), line(4, 5)), score(line(105, 106), line(100, 101)), 1e-10);
  const auto at = [](int64_t t, int64_t h, int64_t w) {
    return at::tensor({t, h, w}, at::kLong).view({1, 3});
  };
  EXPECT_NEAR(score(at(3, 5, 2), at(1, 1, 1)), score(at(13, 7, 12), at(11, 3, 11)), 1e-10);
  EXPECT_GT(std::abs(score(at(3, 5, 2), at(1, 1, 1)) - score(at(3, 5, 2), at(1, 2, 1))), 1e-6);
}

TEST(Rope, ThreeAxesShareThePairsAsWanDoes) {
  EXPECT_EQ(rope_shares(128, 3), (std::vector<int64_t>{22, 21, 21}));
  EXPECT_EQ(rope_shares(12, 3), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(rope_shares(64, 1), (std::vector<int64_t>{32}));
}

TEST(Rope, EveryAxisCountsItsOwnPairs) {
  // 4, 3 and 3 pairs; the last of n pairs turns by base^(-(n - 1) / n) per position.
  const at::Tensor position = at::tensor({2, 3, 5}, at::kLong).view({1, 3});
  const at::Tensor cos = rope_table(position, 20, {.base = 100}).cos[0];
  ASSERT_EQ(cos.size(0), 10);
  EXPECT_NEAR(cos[3].item<double>(), std::cos(2 * std::pow(100, -3. / 4)), 1e-12);
  EXPECT_NEAR(cos[6].item<double>(), std::cos(3 * std::pow(100, -2. / 3)), 1e-12);
  EXPECT_NEAR(cos[9].item<double>(), std::cos(5 * std::pow(100, -2. / 3)), 1e-12);
}

TEST(Rope, LongPositionsKeepTheirPrecision) {
  // Neighbouring tokens a million positions on still differ by the angle of one position.
  const RopeOptions options = {1e6, RopePairs::halves};
  const auto table = rope_table(line(1'000'000, 1'000'002), 2, options);
  const double step = std::atan2(table.sin[1][0].item<double>(), table.cos[1][0].item<double>()) -
                      std::atan2(table.sin[0][0].item<double>(), table.cos[0][0].item<double>());
  EXPECT_NEAR(std::cos(step), std::cos(1.0), 1e-9);
}

TEST(Rope, GradientsMatchFiniteDifferences) {
  at::manual_seed(3);
  for (const auto pairs : {RopePairs::halves, RopePairs::neighbours}) {
    const auto table = rope_table(line(0, 4), 6, {100, pairs});
    expect_gradients([&](const auto& x) { return rope(x[0], table, pairs); }, {randn({2, 4, 2, 6})});
  }
}

TEST(Rope, BadShapesGetASentence) {
  EXPECT_SENTENCE(rope_table(line(0, 4), 7, {}), "expected an even number");
  EXPECT_SENTENCE(rope_table(at::arange(4), 8, {}), "expected [T, axes]");
  EXPECT_SENTENCE(rope(at::randn({1, 5, 2, 8}), rope_table(line(0, 4), 8, {}), RopePairs::halves),
                  "5 tokens of width 8");
}

}  // namespace
}  // namespace lact::ops
