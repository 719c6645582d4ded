#include "lact/reproduce/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;

class ResultsOfSteps : public ::testing::Test {
 protected:
  ResultsOfSteps() {
    results_.add("run", {.folder = folder_ / "", .command = "lact lm train", .seconds = 2, .machine = "m"});
  }
  TemporaryFolder folder_;
  Results results_;
};

TEST_F(ResultsOfSteps, OutputFilesAndCurvesAreRead) {
  write_file(folder_ / "stdout.txt", "{\"loss\": 1.5}\n");
  write_file(folder_ / "run.json", "{\"seed\": 3}");
  write_file(folder_ / "metrics.jsonl", "{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"loss\": 2}\n");
  EXPECT_EQ(results_.json("run")["loss"], 1.5);
  EXPECT_EQ(results_.file("run", "run.json")["seed"], 3);
  EXPECT_EQ(results_.curves("run").at("loss").value.size(), 2U);
  EXPECT_EQ(results_.last("run", "loss"), 2);
  EXPECT_EQ(results_.at("run").seconds, 2);
}

TEST_F(ResultsOfSteps, MissingOnesAreASentenceThatNamesTheFile) {
  EXPECT_SENTENCE(results_.at("other"), "step other is not finished");
  EXPECT_FALSE(results_.has("other"));
  EXPECT_SENTENCE(results_.json("run"), "stdout.txt");
  EXPECT_SENTENCE(results_.json("run"), "expected the JSON that this prints: lact lm train");
  EXPECT_SENTENCE(results_.file("run", "run.json"), "run.json");
  EXPECT_SENTENCE(results_.curves("run"), "metrics.jsonl");
}

TEST_F(ResultsOfSteps, BrokenOnesAreASentenceThatNamesTheFile) {
  write_file(folder_ / "stdout.txt", "{\"loss\": 1.");
  write_file(folder_ / "run.json", "[1");
  write_file(folder_ / "metrics.jsonl", "nonsense\n{}\n");
  EXPECT_SENTENCE(results_.json("run"), "stdout.txt");
  EXPECT_SENTENCE(results_.file("run", "run.json"), "run.json");
  EXPECT_SENTENCE(results_.curves("run"), "metrics.jsonl: line 1");
}

TEST_F(ResultsOfSteps, AFieldThatACurveDoesNotHaveIsNamed) {
  write_file(folder_ / "metrics.jsonl", "{\"step\": 1, \"loss\": 3, \"rate\": 1}\n");
  EXPECT_SENTENCE(results_.last("run", "valid_loss"), "has no field \"valid_loss\"; there are loss, rate");
}

}  // namespace
}  // namespace lact::reproduce
