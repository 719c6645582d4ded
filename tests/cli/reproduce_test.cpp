// `lact reproduce` as a user runs it: with the smallest budget, all of it. What becomes of steps that fail or
// are interrupted is in tests/reproduce/suite_test.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "lact/base/options.h"
#include "lact/cli/launched_command.h"
#include "lact/reproduce/experiment.h"
#include "lact/reproduce/step_graph.h"
#include "lact/reproduce/step_words.h"
#include "support/program.h"

namespace lact::cli {
namespace {

using lact::testing::expect_mistake;
using lact::testing::run_program;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using ::testing::HasSubstr;
using ::testing::Not;

class ReproduceProgram : public ::testing::Test {
 protected:
  std::string output(const std::string& name = "out") const { return " -o '" + folder_ / name + "' "; }

  static options::Json json_of(const std::string& arguments) {
    const auto outcome = run_program(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return options::Json::parse(outcome.out);
  }

  TemporaryFolder folder_;
};

TEST_F(ReproduceProgram, ListsItsExperiments) {
  const auto all = reproduce::experiments({.budget = reproduce::Budget::smoke, .seeds = 1});
  const options::Json list = json_of("reproduce --list --json --budget smoke");
  ASSERT_EQ(list.size(), all.size());
  const std::string text = run_program("reproduce --list").out;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(list[i]["id"], all[i].id);
    EXPECT_THAT(text, HasSubstr(all[i].id));
    EXPECT_THAT(text, HasSubstr(all[i].title));
  }
}

TEST_F(ReproduceProgram, MistakesAreOneSentence) {
  const auto all = reproduce::experiments({});
  ASSERT_FALSE(all.empty());
  expect_mistake("reproduce --only nonsense" + output(),
                 "--only nonsense is no experiment; there are " + all[0].id);
  expect_mistake("reproduce --budget 3h" + output(), "expected one of smoke, 2h, 8h, overnight");
  expect_mistake("reproduce --seeds 0" + output(), "--seeds");
  expect_mistake("reproduce --dry-run --report-only" + output(), "--report-only");
  expect_mistake("reproduce --report-only" + output("none"), "none: there is no such folder");
  expect_mistake("reproduce --recorded '" + folder_ / "none" + "'" + output(),
                 "none: there is no such folder");
  write_file(folder_ / "file", "");
  expect_mistake("reproduce" + output("file"), "is not a folder");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(ReproduceProgram, ADryRunPrintsCommandsThatAUserCouldType) {
  for (const std::string budget : {"smoke", "2h"}) {
    const options::Json plan = json_of("reproduce --dry-run --json --budget " + budget + output());
    EXPECT_GT(plan["seconds"], 0);
    ASSERT_FALSE(plan["steps"].empty());
    for (const auto& step : plan["steps"]) {
      EXPECT_FALSE(step["done"].get<bool>());
      EXPECT_FALSE(step["experiments"].empty()) << step;
      const auto command = step["command"].get<std::string>();
      if (command.empty()) {
        EXPECT_FALSE(step["needs"].empty()) << step;
      } else {
        EXPECT_THAT(command, ::testing::StartsWith("lact "));
        EXPECT_THAT(command, Not(HasSubstr("@"))) << "names of steps have become folders";
      }
    }
  }
  EXPECT_THAT(run_program("reproduce --dry-run --budget smoke" + output()).out, HasSubstr(" in all\n"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out")) << "nothing is made";
}

/// Long budgets are not run by any test: their words, at least, are those of the program.
TEST_F(ReproduceProgram, TheProgramKnowsTheWordsOfEveryBudget) {
  std::filesystem::create_directory(folder_ / "out");
  for (const auto& [budget, name] : enum_names(reproduce::Budget{})) {
    const auto all = reproduce::experiments({.budget = budget, .seeds = 3});
    const reproduce::StepGraph graph(all, all);
    for (size_t i = 0; i < graph.size(); ++i) {
      const auto& step = graph.step(i);
      if (step.words.empty()) continue;  // chosen from results
      auto words = reproduce::with_places(
          step.words, [&](const std::string& id) { return graph.has(id); },
          [&](const std::string& id) { return folder_ / id; });
      if (words.front() == "launch")
        words.erase(words.begin(), std::find(words.begin(), words.end(), "--") + 1);
      try {
        LaunchedCommand command(words);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "budget " << name << ", step " << step.id << ": " << error.what();
      }
    }
  }
}

/// Everything, as small as it gets: two minutes of two cores.
TEST_F(ReproduceProgram, SmokeYieldsEverySectionAndASecondRunDoesNothingAnew) {
  const std::string command = "reproduce --budget smoke --json" + output();
  const options::Json list = json_of("reproduce --list --json --budget smoke");
  const options::Json first = json_of(command + "--record '" + folder_ / "record" + "'");
  EXPECT_GT(first["ran"], 0);
  EXPECT_EQ(first["failed"], 0) << first["failures"];
  EXPECT_TRUE(first["failures"].empty()) << first["failures"];
  ASSERT_EQ(first["report"]["sections"].size(), list.size());
  for (const auto& section : first["report"]["sections"]) {
    const auto id = section["id"].get<std::string>();
    EXPECT_FALSE(section["claim"].get<std::string>().empty()) << id;
    EXPECT_FALSE(section["findings"].empty()) << id;
    EXPECT_FALSE(section["commands"].empty()) << id;
    for (const auto& finding : section["findings"]) {
      EXPECT_FALSE(finding["rule"].get<std::string>().empty()) << id;
      EXPECT_FALSE(finding["because"].get<std::string>().empty()) << id;
    }
    EXPECT_FALSE(section["charts"].empty() && section["tables"].empty()) << id;
    for (const auto& chart : section["charts"]) {
      EXPECT_FALSE(chart["lines"].empty()) << id << ": " << chart["title"];
      for (const auto& line : chart["lines"]) EXPECT_FALSE(line["y"].empty()) << id << ": " << line["name"];
    }
    EXPECT_TRUE(std::filesystem::exists(folder_ / "record/" + id + ".json")) << id;
  }
  for (const std::string name : {"report.html", "report.md", "report.json"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out/" + name)) << name;
  const options::Json recorded =
      json_of("reproduce --json --recorded '" + folder_ / "record" + "'" + output("again"));
  ASSERT_EQ(recorded["report"]["sections"].size(), list.size());
  for (size_t i = 0; i < list.size(); ++i)
    EXPECT_EQ(recorded["report"]["sections"][i]["findings"], first["report"]["sections"][i]["findings"]);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "again/report.html"));
  const options::Json second = json_of(command);
  EXPECT_EQ(second["ran"], 0);
  EXPECT_EQ(second["cached"], first["ran"]);
  const auto numbers_of = [](options::Json report) {
    report.erase("date");
    return report;
  };
  EXPECT_EQ(numbers_of(second["report"]), numbers_of(first["report"]));
  const std::string id = list[0]["id"];
  const auto one = run_program("reproduce --budget smoke --only " + id + output());
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, ::testing::StartsWith(id)) << "the table of verdicts";
  EXPECT_THAT(one.err, HasSubstr("report.html"));
  EXPECT_THAT(one.err, Not(HasSubstr("starts:")));
}

}  // namespace
}  // namespace lact::cli
