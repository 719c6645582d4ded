// A suite of commands that do nothing but what its tests need: the program is a shell script.
#include "lact/reproduce/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "lact/reproduce/record.h"
#include "lact/reproduce/report.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

namespace fs = std::filesystem;
using lact::testing::read_file;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

/// Notes each start in $folder/started. `train` goes on with what it finds in its folder; as long as there is
/// a file $folder/slow it waits to be asked to stop.
constexpr const char* kProgram = R"sh(#!/bin/bash
echo "$*" >> "$folder/started"
threads=none
if [ "$1" = --threads ]; then threads=$2; shift 2; fi
case $1 in
  print) echo "{\"value\": $2, \"threads\": \"$threads\", \"variable\": \"$OMP_NUM_THREADS\"}";;
  garbage) echo "{\"value\": ";;
  fail) echo noise; echo "lact: error: this  went wrong" >&2; exit 3;;
  copy) cp "$2" "$3";;
  train)
    trap 'exit 130' INT TERM
    [ "$2" = --resume ] && out=$3 || { out=$3; echo '{"seed": 1}' > "$out/run.json"; }
    touch "$folder/training"
    while [ -e "$folder/slow" ]; do sleep 0.02; done
    echo '{"step": 1, "loss": 2.5}' > "$out/metrics.jsonl"
    echo '{"steps": 1}';;
esac
)sh";

Step a_step(const std::string& id, const Words& words) {
  Step step;
  step.id = id;
  step.label = "step " + id;
  step.words = words;
  return step;
}

class SuiteOfScripts : public ::testing::Test {
 protected:
  SuiteOfScripts() {
    const std::string program = folder_ / "program";
    std::string text = kProgram;
    text.insert(text.find('\n') + 1, "folder='" + folder_ / "" + "'\n");
    write_file(program, text);
    fs::permissions(program, fs::perms::owner_all);
    options_.folder = folder_ / "out";
    options_.heading.machine = "a machine";
    options_.heading.budget = "smoke";
    options_.running.program = program;
    options_.running.jobs = 2;
    options_.running.words_again = [](const Words& words) {
      Words again = words;
      const bool training = words.size() > 2 && words[words.size() - 3] == "train";
      if (training && fs::exists(words.back() + "/run.json")) again[words.size() - 2] = "--resume";
      return again;
    };
    options_.table.out = &messages_;
    options_.table.terminal = false;
  }

  /// Reads the values that its steps print.
  void add_experiment(const std::string& id, const std::vector<Step>& steps) {
    experiments_.push_back(
        {.id = id, .title = "Figure " + id, .steps = steps, .section = [steps](const Results& results) {
           Section section;
           section.claim = "Values are printed";
           Chart chart = {
               .title = "values", .x_label = "step", .y_label = "value", .log_x = false, .lines = {}};
           Line line = {.name = "ours", .x = {}, .y = {}, .low = {}, .high = {}, .dashed = false};
           for (const auto& step : steps) {
             const auto& printed = results.json(step.id);
             line.x.push_back(double(line.x.size()));
             line.y.push_back(printed.value("value", 0.0));
           }
           chart.lines.push_back(line);
           section.charts.push_back(chart);
           section.findings.push_back({.statement = "there are values",
                                       .rule = "at least one",
                                       .because = std::to_string(steps.size()),
                                       .verdict = Verdict::holds});
           return section;
         }});
  }

  Suite suite() const { return Suite(experiments_, experiments_, options_); }
  SuiteOutcome run() const { return suite().run(); }

  /// What was started since the last call.
  std::vector<std::string> started() const {
    std::istringstream text(read_file(folder_ / "started"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    fs::remove(folder_ / "started");
    return lines;
  }

  std::vector<std::string> step_folders() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "out/steps"))
      names.push_back(entry.path().filename().string());
    return names;
  }

  std::string file_of(const std::string& id, const std::string& name) const {
    for (const auto& folder : step_folders())
      if (folder.starts_with(id + "-")) return folder_ / "out/steps/" + folder + "/" + name;
    return "";
  }

  TemporaryFolder folder_;
  std::ostringstream messages_;
  SuiteOptions options_;
  std::vector<Experiment> experiments_;
};

TEST_F(SuiteOfScripts, RunsStepsAndWritesTheReport) {
  add_experiment("one", {a_step("p", {"print", "7"}), a_step("q", {"print", "8"})});
  const SuiteOutcome outcome = run();
  EXPECT_EQ(outcome.ran, 2);
  EXPECT_FALSE(outcome.interrupted || outcome.any_failed());
  const Report report = read_report(folder_ / "out/report.json");
  ASSERT_EQ(report.sections.size(), 1U);
  EXPECT_EQ(report.sections[0].id, "one");
  EXPECT_EQ(report.sections[0].title, "Figure one");
  EXPECT_THAT(report.sections[0].charts[0].lines[0].y, ElementsAre(7, 8));
  EXPECT_THAT(report.sections[0].commands,
              ElementsAre("lact --threads 1 print 7", "lact --threads 1 print 8"));
  EXPECT_GT(report.sections[0].seconds, 0);
  EXPECT_THAT(messages_.str(), HasSubstr("starts: step p\n  lact --threads 1 print 7\n"));
  EXPECT_THAT(verdict_table(outcome), HasSubstr("one  holds          Figure one\n"));
  EXPECT_THAT(verdict_table(outcome), HasSubstr("there are values: 2"));
}

TEST_F(SuiteOfScripts, WhatIsFinishedIsNeverRunAgain) {
  add_experiment("one", {a_step("p", {"print", "7"})});
  run();
  EXPECT_EQ(started().size(), 1U);
  const SuiteOutcome again = run();
  EXPECT_EQ(again.ran, 0);
  EXPECT_EQ(again.cached, 1);
  EXPECT_THAT(started(), IsEmpty());
  EXPECT_EQ(again.report.sections.size(), 1U);
  add_experiment("two", {a_step("p", {"print", "7"}), a_step("q", {"print", "8"})});
  EXPECT_EQ(run().ran, 1) << "a step that two experiments share runs once";
  EXPECT_THAT(started(), ElementsAre("--threads 1 print 8"));
}

TEST_F(SuiteOfScripts, OtherWordsOrAnotherMeaningOfThemAreAnotherStep) {
  add_experiment("one",
                 {a_step("p", {"print", "7"}), a_step("q", {"copy", "@p/stdout.txt", "@out/stdout.txt"}),
                  a_step("r", {"print", "9"})});
  options_.meaning = [](const Words& words) { return words.back() == "9" ? "as before" : ""; };
  run();
  started();
  experiments_[0].steps[0].words = {"print", "8"};
  EXPECT_EQ(run().ran, 2) << "and so is what needs it";
  started();
  options_.meaning = [](const Words& words) { return words.back() == "9" ? "otherwise" : ""; };
  EXPECT_EQ(run().ran, 1);
  EXPECT_THAT(started(), ElementsAre("--threads 1 print 9"));
  experiments_[0].steps[0].words = {"print", "7"};
  EXPECT_EQ(run().ran, 0) << "results of before are still there";
  EXPECT_EQ(step_folders().size(), 6U);
}

TEST_F(SuiteOfScripts, TheFolderOfTheSuiteDoesNotMatter) {
  add_experiment("one", {a_step("p", {"print", "7"}), a_step("q", {"copy", "@p/stdout.txt", "@out/a"})});
  experiments_[0].section = [](const Results&) { return Section{}; };
  run();
  fs::rename(folder_ / "out", folder_ / "moved");
  options_.folder = folder_ / "moved";
  EXPECT_EQ(run().ran, 0);
}

TEST_F(SuiteOfScripts, AFinishedStepTellsWhatItWas) {
  add_experiment("one", {a_step("p", {"print", "7"})});
  run();
  StepRecord record;
  options::read(options::read_json_file(file_of("p", "step.json")), record);
  EXPECT_EQ(record.id, "p");
  EXPECT_EQ(record.command, "lact --threads 1 print 7");
  EXPECT_EQ(record.machine, "a machine");
  EXPECT_THAT(record.words, ElementsAre("--threads", "1", "print", "7"));
  EXPECT_GT(record.seconds, 0);
}

TEST_F(SuiteOfScripts, StepsHaveACoreEachUnlessTheyAreAlone) {
  Step alone = a_step("q", {"print", "8"});
  alone.alone = true;
  add_experiment("one", {a_step("p", {"print", "7"}), alone, a_step("r", {"print", "9", "--threads", "2"}),
                         a_step("s", {"launch", "-n", "2"})});
  experiments_[0].section = [](const Results& results) {
    EXPECT_EQ(results.json("p")["threads"], "1");
    EXPECT_EQ(results.json("p")["variable"], "1");
    EXPECT_EQ(results.json("q")["threads"], "none");
    return Section{};
  };
  EXPECT_FALSE(run().any_failed());
  const auto lines = started();
  EXPECT_EQ(lines.front(), "print 8") << "first, while nothing else runs";
  EXPECT_THAT(lines,
              UnorderedElementsAre("print 8", "--threads 1 print 7", "print 9 --threads 2", "launch -n 2"));
}

TEST_F(SuiteOfScripts, WordsAreChosenFromResults) {
  Step best = a_step("best", {});
  best.needs = {"p", "q"};
  best.choose = [](const Results& results) {
    const double value =
        std::max(results.json("p")["value"].get<double>(), results.json("q")["value"].get<double>());
    return Words{"print", std::to_string(int(value) * 10)};
  };
  add_experiment("one", {best, a_step("p", {"print", "7"}), a_step("q", {"print", "8"})});
  auto planned = suite().plan();
  ASSERT_EQ(planned.size(), 3U);
  EXPECT_EQ(planned[2].command, "") << "nobody knows yet";
  EXPECT_THAT(run().report.sections.at(0).charts[0].lines[0].y, ElementsAre(80, 7, 8));
  EXPECT_EQ(suite().plan()[2].command, "lact --threads 1 print 80");
  EXPECT_EQ(run().ran, 0);
}

TEST_F(SuiteOfScripts, ChosenWordsNameOnlyWhatTheStepNeeds) {
  Step best = a_step("best", {});
  best.needs = {"p"};
  best.choose = [](const Results&) { return Words{"print", "@q"}; };
  add_experiment("one", {best, a_step("p", {"print", "7"}), a_step("q", {"print", "8"})});
  const SuiteOutcome outcome = run();
  EXPECT_THAT(outcome.experiments[0].failure, HasSubstr("name q, which is not among its needs"));
}

TEST_F(SuiteOfScripts, AFailureIsTheSentenceOfItsExperimentsAndOthersGoOn) {
  add_experiment("one", {a_step("p", {"fail"}), a_step("q", {"copy", "@p/x", "@out/x"})});
  add_experiment("two", {a_step("r", {"print", "8"})});
  const SuiteOutcome outcome = run();
  EXPECT_TRUE(outcome.any_failed());
  EXPECT_EQ(outcome.failed, 2);
  EXPECT_THAT(outcome.experiments[0].failure,
              HasSubstr("step p ended with exit code 3: lact: error: this went wrong; its log is"));
  EXPECT_EQ(outcome.experiments[1].failure, "");
  const Report report = read_report(folder_ / "out/report.json");
  ASSERT_EQ(report.sections.size(), 2U);
  EXPECT_THAT(report.sections[0].findings.at(0).because, HasSubstr("this went wrong"));
  EXPECT_EQ(report.sections[0].findings[0].verdict, Verdict::inconclusive);
  EXPECT_THAT(verdict_table(outcome), HasSubstr("one  failed "));
  EXPECT_THAT(messages_.str(), HasSubstr("failed: step p: step p ended with exit code 3"));
  EXPECT_EQ(read_file(file_of("p", "log.txt")), "lact: error: this  went wrong\n");
  started();
  EXPECT_TRUE(run().any_failed());
  EXPECT_THAT(started(), ElementsAre("--threads 1 fail")) << "it is tried again, and only it";
}

TEST_F(SuiteOfScripts, ResultsThatCannotBeReadAreASentence) {
  add_experiment("one", {a_step("p", {"garbage"})});
  const SuiteOutcome outcome = run();
  EXPECT_THAT(outcome.experiments[0].failure, HasSubstr("stdout.txt"));
  EXPECT_THAT(outcome.experiments[0].failure, HasSubstr("expected the JSON that this prints: lact"));
  experiments_.clear();
  add_experiment("two", {a_step("q", {"print", "1"})});
  run();
  write_file(file_of("q", "step.json"), "{\"id\": ");
  EXPECT_SENTENCE(run(), "step.json");
  EXPECT_SENTENCE(run(), "remove the folder to run the step again");
  fs::remove_all(fs::path(file_of("q", "step.json")).parent_path());
  EXPECT_EQ(run().ran, 1);
}

TEST_F(SuiteOfScripts, ASectionThatDoesNotFitTogetherFails) {
  add_experiment("one", {a_step("p", {"print", "1"})});
  experiments_[0].section = [](const Results&) {
    Section section;
    section.charts.push_back({.title = "c", .x_label = "x", .y_label = "y", .log_x = false, .lines = {}});
    section.charts[0].lines.push_back(
        {.name = "l", .x = {1, 2}, .y = {1}, .low = {}, .high = {}, .dashed = false});
    return section;
  };
  EXPECT_THAT(run().experiments[0].failure, HasSubstr("section one"));
}

TEST_F(SuiteOfScripts, AnInterruptedTrainingGoesOn) {
  add_experiment("one", {a_step("t", {"train", "-o", "@out"}), a_step("p", {"print", "3"}),
                         a_step("late", {"copy", "@t/run.json", "@out/x"})});
  experiments_[0].section = [](const Results& results) {
    EXPECT_EQ(results.last("t", "loss"), 2.5);
    return Section{};
  };
  for (const int signal : {SIGINT, SIGTERM}) {
    fs::remove(folder_ / "training");
    write_file(folder_ / "slow", "");
    const pid_t process = fork();
    if (process == 0) _exit(run().interrupted ? 130 : 1);
    for (int i = 0; i < 2000 && !fs::exists(folder_ / "training"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(fs::exists(folder_ / "training"));
    kill(process, signal);
    int status = 0;
    waitpid(process, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 130);
    EXPECT_FALSE(fs::exists(file_of("t", "step.json")));
    EXPECT_TRUE(fs::exists(file_of("t", "unfinished.json")));
  }
  EXPECT_THAT(read_report(folder_ / "out/report.json").sections, IsEmpty());
  started();
  fs::remove(folder_ / "slow");
  const double before = options::read_json_file(file_of("t", "unfinished.json"))["seconds"];
  EXPECT_GT(before, 0);
  const SuiteOutcome outcome = run();
  EXPECT_FALSE(outcome.any_failed()) << outcome.experiments[0].failure;
  EXPECT_THAT(started().front(), HasSubstr("train --resume"));
  EXPECT_THAT(messages_.str(), HasSubstr("goes on: step t"));
  StepRecord record;
  options::read(options::read_json_file(file_of("t", "step.json")), record);
  EXPECT_GT(record.seconds, before) << "all parts together";
  EXPECT_THAT(record.words, Not(::testing::Contains("--resume"))) << "as a user would type it";
  EXPECT_FALSE(fs::exists(file_of("t", "unfinished.json")));
}

TEST_F(SuiteOfScripts, AnUnfinishedStepThatCannotGoOnBeginsInAnEmptyFolder) {
  add_experiment("one", {a_step("p", {"print", "7"})});
  run();
  const std::string folder = fs::path(file_of("p", "x")).parent_path().string();
  fs::remove(folder + "/step.json");
  write_file(folder + "/leftover", "");
  write_file(folder + "/unfinished.json", "{\"seconds\": 1000}");
  run();
  EXPECT_FALSE(fs::exists(folder + "/leftover"));
  EXPECT_LT(options::read_json_file(folder + "/step.json")["seconds"], 1000);
}

TEST_F(SuiteOfScripts, AReportCanBeMadeOfWhatIsThere) {
  add_experiment("one", {a_step("p", {"print", "7"})});
  run();
  started();
  add_experiment("two", {a_step("p", {"print", "7"}), a_step("q", {"print", "8"})});
  const SuiteOutcome outcome = suite().report_only();
  EXPECT_THAT(started(), IsEmpty());
  EXPECT_EQ(outcome.report.sections.size(), 1U);
  EXPECT_THAT(verdict_table(outcome), HasSubstr("two  not finished   Figure two\n"));
  EXPECT_THAT(verdict_table(outcome), HasSubstr("1 of 2 steps are done"));
}

TEST_F(SuiteOfScripts, OneSuiteAtATimeUsesAFolder) {
  add_experiment("one", {a_step("p", {"print", "7"})});
  experiments_[0].section = [this](const Results&) {
    EXPECT_SENTENCE(run(), "another lact reproduce works in this folder");
    return Section{};
  };
  run();
}

TEST_F(SuiteOfScripts, ExperimentsHaveNamesOfTheirOwn) {
  add_experiment("one", {a_step("p", {"print", "7"})});
  add_experiment("one", {});
  EXPECT_SENTENCE(suite(), "two experiments are called one");
  experiments_[1].id = "a/b";
  EXPECT_SENTENCE(suite(), "an experiment is called \"a/b\"");
}

TEST_F(SuiteOfScripts, TheRecordHoldsWhatStandsBehindASection) {
  add_experiment("one", {a_step("t", {"train", "-o", "@out"}), a_step("p", {"print", "3.14159265358979"})});
  Suite all = suite();
  const SuiteOutcome outcome = all.run();
  write_record(all, outcome, folder_ / "record");
  const auto json = options::read_json_file(folder_ / "record/one.json");
  EXPECT_EQ(json["section"]["id"], "one");
  EXPECT_EQ(json["steps"][0]["run"]["seed"], 1);
  EXPECT_EQ(json["steps"][0]["curves"]["loss"]["value"][0], 2.5);
  EXPECT_EQ(json["steps"][1]["printed"]["value"], 3.14159);
  EXPECT_THAT(json["steps"][1]["command"].get<std::string>(), HasSubstr("print 3.14159265358979"));
}

}  // namespace
}  // namespace lact::reproduce
