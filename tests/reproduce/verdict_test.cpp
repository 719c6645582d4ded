#include "lact/reproduce/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lact::reproduce {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Verdict beating(std::vector<double> better, std::vector<double> worse,
                Direction direction = Direction::lower) {
  return beats("", {"a", std::move(better)}, {"b", std::move(worse)}, direction).verdict;
}

Verdict comparing(std::vector<double> one, std::vector<double> other, double share,
                  Direction direction = Direction::lower) {
  return comparable("", {"a", std::move(one)}, {"b", std::move(other)}, direction, share).verdict;
}

/// Three seeds around each mean, one deviation of 0.01 apart.
std::vector<Sample> around(const std::vector<double>& means) {
  std::vector<Sample> samples;
  for (const double mean : means) samples.push_back({std::to_string(mean), {mean - 0.01, mean, mean + 0.01}});
  return samples;
}

TEST(Sample, MeanAndSpreadAreThoseOfTheTextbook) {
  const Sample sample = {"loss", {1, 2, 3, 6}};
  EXPECT_DOUBLE_EQ(sample.mean(), 3);
  EXPECT_DOUBLE_EQ(sample.deviation(), std::sqrt(14.0 / 3));  // (4 + 1 + 0 + 9) / (4 - 1)
  EXPECT_DOUBLE_EQ(sample.standard_error(), std::sqrt(14.0 / 3) / 2);
}

TEST(Sample, OneSeedHasNoSpreadAndNoneHasNoMean) {
  EXPECT_EQ((Sample{"a", {5}}.deviation()), 0);
  EXPECT_EQ((Sample{"a", {5}}.standard_error()), 0);
  EXPECT_TRUE(std::isnan(Sample{}.mean()));
  EXPECT_TRUE(std::isnan(Sample{}.standard_error()));
}

TEST(Sample, TextShowsAsManyDigitsAsTheSpreadAllows) {
  EXPECT_EQ((Sample{"a", {1.222, 1.234, 1.246}}.text()), "1.234 ± 0.012 (3 seeds)");
  EXPECT_EQ((Sample{"a", {1000, 2000, 3000}}.text()), "2000 ± 1000 (3 seeds)");
  EXPECT_EQ((Sample{"a", {20, 23}}.text()), "21.5 ± 2.1 (2 seeds)");
  EXPECT_EQ((Sample{"a", {1.23456}}.text()), "1.235 (1 seed)");
  EXPECT_EQ((Sample{"a", {2, 2, 2}}.text()), "2 ± 0 (3 seeds)");
  EXPECT_EQ((Sample{"a", {1e-9, 2e-9, 3e-9}}.text()), "2e-09 ± 1e-09 (3 seeds)");
  EXPECT_EQ((Sample{"a", {1, kNan}}.text()), "not a number (2 seeds)");
  EXPECT_EQ(Sample{}.text(), "no values");
}

// Deviation 1, so the standard error of a difference of two such means is sqrt(2 / 3), twice of it 1.633.
TEST(Beats, TwiceTheStandardErrorOfTheDifferenceDecides) {
  EXPECT_EQ(beating({1, 2, 3}, {2.64, 3.64, 4.64}), Verdict::holds);
  EXPECT_EQ(beating({1, 2, 3}, {2.62, 3.62, 4.62}), Verdict::inconclusive);
  EXPECT_EQ(beating({2.62, 3.62, 4.62}, {1, 2, 3}), Verdict::inconclusive);
  EXPECT_EQ(beating({2.64, 3.64, 4.64}, {1, 2, 3}), Verdict::does_not_hold);
  EXPECT_EQ(beating({2.64, 3.64, 4.64}, {1, 2, 3}, Direction::higher), Verdict::holds);
  EXPECT_EQ(beating({1, 2, 3}, {2.64, 3.64, 4.64}, Direction::higher), Verdict::does_not_hold);
}

TEST(Beats, FewerThanThreeSeedsDecideNothing) {
  EXPECT_EQ(beating({1}, {100}), Verdict::inconclusive);
  EXPECT_EQ(beating({1, 1, 1}, {100, 100}), Verdict::inconclusive);
  EXPECT_EQ(beating({100, 100}, {1, 1, 1}), Verdict::inconclusive);
  EXPECT_THAT(beats("", {"a", {1}}, {"b", {100}}, Direction::lower).because, HasSubstr("fewer than 3 seeds"));
}

TEST(Beats, EqualMeansDecideNothing) {
  EXPECT_EQ(beating({1, 2, 3}, {1, 2, 3}), Verdict::inconclusive);
  EXPECT_EQ(beating({2, 2, 2}, {2, 2, 2}), Verdict::inconclusive);
}

TEST(Beats, MissingValuesDecideNothing) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ(beating({1, bad, 1}, {100, 100, 100}), Verdict::inconclusive);
    EXPECT_EQ(beating({1, 1, 1}, {100, bad, 100}), Verdict::inconclusive);
  }
  EXPECT_EQ(beating({}, {}), Verdict::inconclusive);
  EXPECT_EQ(beating({1, 1, 1}, {}), Verdict::inconclusive);
}

TEST(Beats, SaysWhatDecidesAndTheNumbers) {
  const Finding finding =
      beats("Muon is better", {"Muon", {1, 2, 3}}, {"descent", {11, 12, 13}}, Direction::lower);
  EXPECT_EQ(finding.statement, "Muon is better");
  EXPECT_EQ(
      finding.rule,
      "holds if the mean of Muon is lower than that of descent by more than twice the standard error of the "
      "difference, with at least 3 seeds each; does not hold if it is higher by as much; else inconclusive");
  EXPECT_EQ(finding.because,
            "Muon: 2.0 ± 1.0 (3 seeds); descent: 12.0 ± 1.0 (3 seeds); difference -10, twice its standard "
            "error 1.6");
}

TEST(Comparable, FailsOnlyWhereWorseByTheShareAndByChance) {
  EXPECT_EQ(comparing({10, 10, 10}, {10, 10, 10}, 0.02), Verdict::holds);
  EXPECT_EQ(comparing({10.1, 10.1, 10.1}, {10, 10, 10}, 0.02), Verdict::holds);          // 1 % worse
  EXPECT_EQ(comparing({10.3, 10.3, 10.3}, {10, 10, 10}, 0.02), Verdict::does_not_hold);  // 3 % worse
  EXPECT_EQ(comparing({9.3, 10.3, 11.3}, {9, 10, 11}, 0.02), Verdict::holds);  // 3 % worse by chance
  EXPECT_EQ(comparing({1, 1, 1}, {10, 10, 10}, 0.02), Verdict::holds);         // better
  EXPECT_EQ(comparing({1, 1, 1}, {10, 10, 10}, 0.02, Direction::higher), Verdict::does_not_hold);
  EXPECT_EQ(comparing({-10.3, -10.3, -10.3}, {-10, -10, -10}, 0.02, Direction::higher),
            Verdict::does_not_hold);
}

TEST(Comparable, FewSeedsAndMissingValuesDecideNothing) {
  EXPECT_EQ(comparing({10, 10}, {10, 10, 10}, 0.02), Verdict::inconclusive);
  EXPECT_EQ(comparing({99, 99}, {10, 10, 10}, 0.02), Verdict::inconclusive);
  EXPECT_EQ(comparing({10, kNan, 10}, {10, 10, 10}, 0.02), Verdict::inconclusive);
  EXPECT_EQ(comparing({}, {10, 10, 10}, 0.02), Verdict::inconclusive);
}

TEST(Improves, EndsAndOrderBothDecide) {
  EXPECT_EQ(improves("", around({4, 3, 2, 1}), Direction::lower).verdict, Verdict::holds);
  EXPECT_EQ(improves("", around({1, 2, 3, 4}), Direction::lower).verdict, Verdict::does_not_hold);
  EXPECT_EQ(improves("", around({1, 2, 3, 4}), Direction::higher).verdict, Verdict::holds);
  EXPECT_EQ(improves("", around({4, 4, 4}), Direction::lower).verdict, Verdict::inconclusive);
  // One pair of neighbours swapped: 1 - 6 * 2 / (4 * 15) = 0.8. Two pairs: 1 - 6 * 4 / 60 = 0.6.
  EXPECT_EQ(improves("", around({4, 2, 3, 1}), Direction::lower).verdict, Verdict::holds);
  EXPECT_EQ(improves("", around({3, 4, 1, 2}), Direction::lower).verdict, Verdict::inconclusive);
  EXPECT_EQ(improves("", around({3, 1, 4, 2}), Direction::lower).verdict, Verdict::inconclusive);
}

TEST(Improves, EqualMeansShareTheirRank) {
  // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5) = 0.949.
  const Finding finding = improves("", around({1, 2, 2, 3}), Direction::higher);
  EXPECT_THAT(finding.because, HasSubstr("rank correlation 0.95"));
  EXPECT_EQ(finding.verdict, Verdict::holds);
}

TEST(Improves, MissingValuesDecideNothing) {
  EXPECT_EQ(improves("", {}, Direction::lower).verdict, Verdict::inconclusive);
  EXPECT_EQ(improves("", around({1}), Direction::lower).verdict, Verdict::inconclusive);
  auto samples = around({4, 3, 2, 1});
  samples[1].values = {kNan, 3, 3};
  EXPECT_EQ(improves("", samples, Direction::lower).verdict, Verdict::inconclusive);
  samples[1].values = {};
  EXPECT_EQ(improves("", samples, Direction::lower).verdict, Verdict::inconclusive);
  samples[1].values = {3};  // the middle needs no spread
  EXPECT_EQ(improves("", samples, Direction::lower).verdict, Verdict::holds);
  samples.back().values = {1, 1};
  EXPECT_EQ(improves("", samples, Direction::lower).verdict, Verdict::inconclusive);
}

TEST(Reaches, WithinFivePercentDecidesNothing) {
  const auto verdict = [](double value, Direction direction) {
    return reaches("", "speed", value, 100, direction).verdict;
  };
  EXPECT_EQ(verdict(106, Direction::higher), Verdict::holds);
  EXPECT_EQ(verdict(105, Direction::higher), Verdict::inconclusive);
  EXPECT_EQ(verdict(95, Direction::higher), Verdict::inconclusive);
  EXPECT_EQ(verdict(94, Direction::higher), Verdict::does_not_hold);
  EXPECT_EQ(verdict(94, Direction::lower), Verdict::holds);
  EXPECT_EQ(verdict(106, Direction::lower), Verdict::does_not_hold);
  for (const double bad : {kNan, kInfinity})
    EXPECT_EQ(verdict(bad, Direction::higher), Verdict::inconclusive);
  EXPECT_EQ(reaches("", "speed", 1, kNan, Direction::lower).verdict, Verdict::inconclusive);
  EXPECT_EQ(reaches("", "speed", 1, 100, Direction::lower).rule,
            "holds if speed is at most 100, does not hold otherwise; within 5 % of that it is inconclusive");
}

}  // namespace
}  // namespace lact::reproduce
