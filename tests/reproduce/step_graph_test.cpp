#include "lact/reproduce/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace lact::reproduce {
namespace {

using ::testing::ElementsAre;

Step step_of(const std::string& id, const Words& words, double work = 1) {
  Step step;
  step.id = id;
  step.words = words;
  step.work = work;
  return step;
}

Experiment experiment_of(const std::string& id, const std::vector<Step>& steps) {
  return {.id = id, .title = "Figure " + id, .steps = steps, .section = {}};
}

StepGraph graph_of(const std::vector<Experiment>& experiments) { return {experiments, experiments}; }

std::vector<std::string> ids_of(const StepGraph& graph) {
  std::vector<std::string> ids;
  for (size_t i = 0; i < graph.size(); ++i) ids.push_back(graph.step(i).id);
  return ids;
}

TEST(StepGraph, StepsOfOneIdAreOneStep) {
  const auto graph = graph_of({experiment_of("a", {step_of("train", {"x"}, 3), step_of("eval", {"@train"})}),
                               experiment_of("b", {step_of("train", {"x"}, 5)})});
  EXPECT_THAT(ids_of(graph), ElementsAre("train", "eval"));
  EXPECT_EQ(graph.step(0).work, 5);
  EXPECT_THAT(graph.steps_of(0), ElementsAre(0, 1));
  EXPECT_THAT(graph.steps_of(1), ElementsAre(0));
}

TEST(StepGraph, DifferentStepsOfOneIdAreRefused) {
  const auto with = [](const Step& other) {
    return graph_of({experiment_of("a", {step_of("train", {"x", "1"})}), experiment_of("b", {other})});
  };
  EXPECT_SENTENCE(with(step_of("train", {"x", "2"})), "two different steps are called train: x 1, and x 2");
  Step alone = step_of("train", {"x", "1"});
  alone.alone = true;
  EXPECT_SENTENCE(with(alone), "two different steps are called train");
  Step chosen = step_of("train", {"x", "1"});
  chosen.choose = [](const Results&) { return Words{"x", "1"}; };
  EXPECT_SENTENCE(with(chosen), "two different steps are called train");
}

TEST(StepGraph, AStepComesAfterAllThatItNeeds) {
  Step best = step_of("best", {});
  best.needs = {"sweep_2", "sweep_1"};
  const auto graph = graph_of({experiment_of("a", {step_of("eval", {"x=@best/model"}), best,
                                                   step_of("sweep_1", {"s"}), step_of("sweep_2", {"s"})})});
  EXPECT_THAT(ids_of(graph), ElementsAre("sweep_2", "sweep_1", "best", "eval"));
  EXPECT_THAT(graph.needs(graph.index("best")), ElementsAre(0, 1));
  EXPECT_THAT(graph.needs(graph.index("eval")), ElementsAre(2));
}

TEST(StepGraph, NeededStepsMayStandInExperimentsThatWereNotChosen) {
  const auto eval = experiment_of("a", {step_of("eval", {"@train"})});
  const auto train = experiment_of("b", {step_of("train", {"x"}), step_of("other", {"y"})});
  const StepGraph graph({eval}, {eval, train});
  EXPECT_THAT(ids_of(graph), ElementsAre("train", "eval"));
  EXPECT_THAT(graph.steps_of(0), ElementsAre(0, 1));
}

TEST(StepGraph, WhatCannotWorkIsRefused) {
  EXPECT_SENTENCE(graph_of({experiment_of("a", {step_of("eval", {"@train"})})}),
                  "\"@train\" names no step, in the words of step eval");
  Step needy = step_of("eval", {"x"});
  needy.needs = {"train"};
  EXPECT_SENTENCE(graph_of({experiment_of("a", {needy})}), "step eval needs train, which is no step");
  EXPECT_SENTENCE(
      graph_of({experiment_of("a", {step_of("p", {"@q"}), step_of("q", {"@r"}), step_of("r", {"@p"})})}),
      "steps need each other in a circle: p, q, r, p");
  EXPECT_SENTENCE(graph_of({experiment_of("a", {step_of("p", {"@p/x"})})}), "in a circle: p, p");
  EXPECT_SENTENCE(graph_of({experiment_of("a", {step_of("a b", {"x"})})}), "a step is called \"a b\"");
  EXPECT_SENTENCE(graph_of({experiment_of("a", {step_of("out", {"x"})})}), "a step is called \"out\"");
  EXPECT_SENTENCE(graph_of({experiment_of("a", {step_of("x", {"x"}, 0)})}), "the work of step x is 0");
}

TEST(StepGraph, ChainsCountTheWorkThatFollows) {
  const auto graph = graph_of({experiment_of("a", {step_of("p", {"x"}, 1), step_of("q", {"@p"}, 10),
                                                   step_of("r", {"@p"}, 2), step_of("s", {"@r"}, 3)})});
  EXPECT_EQ(graph.chain(graph.index("p")), 11);
  EXPECT_EQ(graph.chain(graph.index("q")), 10);
  EXPECT_EQ(graph.chain(graph.index("r")), 5);
}

}  // namespace
}  // namespace lact::reproduce
