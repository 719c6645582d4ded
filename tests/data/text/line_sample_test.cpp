#include "lact/data/text/line_sample.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace lact::data {
namespace {

std::vector<std::string> lines_of(LineSample& sample) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < sample.num_kept(); ++i) lines.push_back(sample.take(i));
  return lines;
}

TEST(LineSample, KeepsAllThatFitsInItsOrder) {
  LineSample sample(1000);
  for (const char* line : {"c", "a", "b", "a"}) sample.add(line);
  EXPECT_EQ(sample.num_seen(), 4u);
  EXPECT_EQ(lines_of(sample), (std::vector<std::string>{"c", "a", "b", "a"}));
}

TEST(LineSample, NeverTakesMoreThanItsRoomOfATextOfAnySize) {
  LineSample sample(100'000);
  for (int i = 0; i < 300'000; ++i) {
    sample.add(std::string(100, 'a'));
    ASSERT_LE(sample.bytes(), 100'000u);
  }
  EXPECT_EQ(sample.num_seen(), 300'000u);
  EXPECT_GE(sample.bytes(), 30'000u) << "about half of the room is used at least";
}

TEST(LineSample, EveryPartOfTheTextIsAsLikely) {
  LineSample sample(400'000);
  for (int i = 0; i < 100'000; ++i) sample.add(std::to_string(i));
  const auto lines = lines_of(sample);
  std::array<int, 4> quarters = {};
  int before = -1;
  for (const auto& line : lines) {
    const int number = std::stoi(line);
    ASSERT_GT(number, before);
    before = number;
    ++quarters[size_t(number) / 25'000];
  }
  const double expected = double(lines.size()) / 4;
  for (const int quarter : quarters) EXPECT_NEAR(quarter, expected, 5 * std::sqrt(expected));
}

TEST(LineSample, TheSameTextGivesTheSameSample) {
  LineSample one(10'000), two(10'000);
  for (int i = 0; i < 10'000; ++i) {
    one.add(std::to_string(i));
    two.add(std::to_string(i));
  }
  EXPECT_LT(one.num_kept(), 10'000u);
  EXPECT_EQ(lines_of(one), lines_of(two));
}

}  // namespace
}  // namespace lact::data
