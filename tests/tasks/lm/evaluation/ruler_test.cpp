#include "lact/tasks/lm/evaluation/ruler.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::tasks::lm::ruler {
namespace {

TEST(RulerScore, ScoreIsTheFractionOfAnswersFound) {
  EXPECT_EQ(score("It is 1234567.", {"1234567"}), 1);
  EXPECT_EQ(score("It is 123456", {"1234567"}), 0);
  EXPECT_EQ(score("", {"1234567"}), 0);
  EXPECT_EQ(score("91234567", {"1234567"}), 1);  // a substring counts, as in RULER
  EXPECT_EQ(score("AB12\x01 is it", {"ab12"}), 1);
  EXPECT_EQ(score("the code is ab12", {"AB12"}), 1);  // neither side's case matters
  EXPECT_EQ(score("Ab12 and zY", {"aB12", "Zy", "ZZ"}), 2.0 / 3);
  EXPECT_EQ(score(" 4, 3 and 1", {"1", "2", "3", "4"}), 0.75);
  EXPECT_EQ(score("4 4 4 4", {"1", "2", "3", "4"}), 0.25);
  EXPECT_SENTENCE(score("1", {}), "without answers");
}

TEST(RulerScore, TaskScoreIsAMeanInPerCentWithTwoDecimals) {
  EXPECT_EQ(task_score({1, 1}), 100);
  EXPECT_EQ(task_score({1, 0, 0}), 33.33);
  EXPECT_EQ(task_score({1, 1, 0}), 66.67);
  EXPECT_EQ(task_score({0.75}), 75);
  EXPECT_SENTENCE(task_score({}), "at least one example");
}

}  // namespace
}  // namespace lact::tasks::lm::ruler
