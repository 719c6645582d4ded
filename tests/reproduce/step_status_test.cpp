#include "lact/reproduce/step_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lact::reproduce {
namespace {

using ::testing::ElementsAre;

/// Steps that end in the order they were started in.
class StepOrder : public ::testing::Test {
 protected:
  void add(const std::string& id, const Words& words, double work, bool alone = false) {
    Step step;
    step.id = id;
    step.words = words;
    step.work = work;
    step.alone = alone;
    experiment_.steps.push_back(step);
  }

  const StepGraph& graph() {
    if (!graph_) {
      graph_ = StepGraph({experiment_}, {});
      statuses_.resize(graph_->size());
    }
    return *graph_;
  }

  StepStatus& status(const std::string& id) { return statuses_[graph().index(id)]; }

  std::vector<std::string> start_all(size_t jobs) {
    std::vector<std::string> ids;
    while (const auto next = next_step(graph(), statuses_, jobs)) {
      statuses_[*next].state = StepState::running;
      ids.push_back(graph().step(*next).id);
    }
    return ids;
  }

  Experiment experiment_ = {.id = "a", .title = "", .steps = {}, .section = {}};
  std::optional<StepGraph> graph_;
  StepStatuses statuses_;
};

TEST_F(StepOrder, LongWorkComesFirst) {
  add("short", {"x"}, 1);
  add("long", {"x"}, 5);
  add("middle", {"x"}, 3);
  graph();
  EXPECT_THAT(start_all(2), ElementsAre("long", "middle"));
  status("middle").state = StepState::done;
  EXPECT_THAT(start_all(2), ElementsAre("short"));
}

TEST_F(StepOrder, AShortStepThatALongOneNeedsComesFirst) {
  add("middle", {"x"}, 3);
  add("sweep", {"x"}, 1);
  add("long", {"@sweep"}, 5);
  graph();
  EXPECT_THAT(start_all(1), ElementsAre("sweep"));
  EXPECT_THAT(start_all(2), ElementsAre("middle")) << "the long one waits";
}

TEST_F(StepOrder, StepsThatMeasureTimeHaveTheMachineForThemselves) {
  add("long", {"x"}, 50);
  add("bench", {"x"}, 1, true);
  add("bench_model", {"@long"}, 1, true);
  add("short", {"x"}, 1);
  graph();
  EXPECT_THAT(start_all(2), ElementsAre("bench"));
  status("bench").state = StepState::done;
  EXPECT_THAT(start_all(2), ElementsAre("long", "short"));
  status("long").state = StepState::done;
  EXPECT_THAT(start_all(2), ElementsAre()) << "the short one still runs";
  status("short").state = StepState::done;
  EXPECT_THAT(start_all(2), ElementsAre("bench_model"));
}

TEST_F(StepOrder, AFailureReachesAllThatNeedTheStep) {
  add("train", {"x"}, 1);
  add("eval", {"@train"}, 1);
  add("table", {"@eval"}, 1);
  add("other", {"x"}, 1);
  fail_step(graph(), statuses_, graph().index("train"), "it broke");
  EXPECT_EQ(status("table").state, StepState::failed);
  EXPECT_EQ(status("table").failure, "it broke");
  EXPECT_THAT(start_all(9), ElementsAre("other"));
}

TEST_F(StepOrder, TheTimeLeftFollowsMeasuredSpeed) {
  add("a", {"x"}, 10);
  add("b", {"x"}, 10);
  add("c", {"x"}, 20);
  add("bench", {"x"}, 7, true);
  graph();
  EXPECT_DOUBLE_EQ(TimeLeft(graph(), statuses_, 2).of({0, 1, 2, 3}), 7 + 20);
  status("a") = {.state = StepState::done, .seconds = 30, .cached = false, .failure = {}};
  EXPECT_DOUBLE_EQ(TimeLeft(graph(), statuses_, 2).of({0, 1, 2, 3}), 7 + 60) << "the last one takes longest";
  status("c") = {.state = StepState::running, .seconds = 40, .cached = false, .failure = {}};
  EXPECT_DOUBLE_EQ(TimeLeft(graph(), statuses_, 1).of({0, 1, 2, 3}), 7 + 30 + 20);
  status("c").seconds = 100;
  EXPECT_DOUBLE_EQ(TimeLeft(graph(), statuses_, 1).of({0, 1, 2, 3}), 7 + 30 + 10) << "longer than expected";
}

TEST_F(StepOrder, AChainTakesItsTimeHoweverManyCoresThereAre) {
  add("a", {"x"}, 10);
  add("b", {"@a"}, 10);
  EXPECT_DOUBLE_EQ(TimeLeft(graph(), statuses_, 8).of({0, 1}), 20);
}

}  // namespace
}  // namespace lact::reproduce
