// `lact bench` as a user runs it.
#include <nlohmann/json.hpp>

#include <map>

#include "support/places.h"
#include "support/program.h"

namespace lact {
namespace {

using lact::testing::expect_mistake;
using lact::testing::run_program;
using ::testing::HasSubstr;

class BenchArea : public ::testing::TestWithParam<const char*> {};

TEST_P(BenchArea, QuickGivesRowsOfFiniteFigures) {
  const std::string area = GetParam();
  const auto outcome = run_program("--threads 1 -q bench " + area + " --quick --json --no-peers --repeats 1");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  for (const char* limit : {"f32_gflops", "peak_gflops", "read_gb_per_s", "copy_gb_per_s"}) {
    EXPECT_GT(json.at("machine").at(limit).get<double>(), 0) << limit;
  }
  EXPECT_TRUE(json.at("machine").at("pytorch").is_null());
  EXPECT_THAT(json.at("command").get<std::string>(), HasSubstr("bench " + area));
  ASSERT_FALSE(json.at("results").empty());
  for (const auto& row : json.at("results")) {
    EXPECT_EQ(row.at("area"), area);
    EXPECT_GT(row.at("seconds").get<double>(), 0) << row.dump();
    for (const char* name : {"shape", "rule", "pass", "share_of_peak", "vs_pytorch_bf16", "vs_pytorch_f32",
                             "extra_memory_mb", "memory_vs_pytorch", "max_error"}) {
      EXPECT_TRUE(row.contains(name)) << name;
    }
    EXPECT_TRUE(row.at("memory_vs_pytorch").is_null());
  }
}

INSTANTIATE_TEST_SUITE_P(All, BenchArea,
                         ::testing::Values("ttt", "newton-schulz", "attention", "recurrences", "splat", "lm",
                                           "decode", "serve", "nvs", "views", "video", "chunks", "states",
                                           "mixers", "million", "plan", "parallel", "profile"));

TEST(BenchVerb, MachinePrintsItsLimits) {
  const auto text = run_program("--threads 1 bench machine --quick").out;
  EXPECT_THAT(text, HasSubstr("GFLOP/s"));
  const auto json = nlohmann::json::parse(run_program("--threads 1 bench machine --quick --json").out);
  EXPECT_TRUE(json.at("results").empty());
}

TEST(BenchVerb, ChunksAreDrawnAndRecorded) {
  const lact::testing::TemporaryFolder folder;
  const auto outcome = run_program("--threads 1 bench chunks --quick --no-peers --repeats 1 --shape gd -o '" +
                                   folder / "c.svg" + "' --record '" + folder / "new/r.json" + "'");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Throughput against chunk size"));
  EXPECT_THAT(lact::testing::read_file(folder / "c.svg"), HasSubstr("<svg"));
  EXPECT_TRUE(nlohmann::json::parse(lact::testing::read_file(folder / "new/r.json")).contains("machine"));
}

TEST(BenchVerb, MixersAreDrawnAgainstTheLengthOfTheText) {
  const lact::testing::TemporaryFolder folder;
  const auto outcome =
      run_program("--threads 1 bench mixers --quick --no-peers --repeats 1 -o '" + folder / "m.svg" + "'");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string picture = lact::testing::read_file(folder / "m.svg");
  for (const char* word :
       {"lact", "lact momentum", "lact gd", "full", "window", "gla", "deltanet", "mamba2", "ttt"}) {
    EXPECT_THAT(picture, HasSubstr(word)) << word;
  }
}

nlohmann::json quick_rows(const std::string& words) {
  const auto outcome =
      run_program("--threads 1 -q bench " + words + " --quick --json --no-peers --repeats 1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out).at("results");
}

TEST(BenchVerb, AShapeMayBeGivenRepeatedly) {
  const auto rows =
      quick_rows("mixers --shape '64 tokens full training' --shape '32 tokens lact gd training'");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("rule"), "lact gd");
  EXPECT_EQ(rows[0].at("sizes").at("tokens"), 32);
  EXPECT_EQ(rows[1].at("rule"), "full");
  EXPECT_EQ(rows[1].at("sizes").at("tokens"), 64);
  for (const auto& row : rows) EXPECT_EQ(row.at("pass"), "training step");
}

// Momentum has a projection of its own; Muon has nothing to learn.
TEST(BenchVerb, LactIsMeasuredWithSimplerStepsToo) {
  std::map<std::string, int> parameters;
  for (const auto& row : quick_rows("mixers --shape '32 tokens lact'"))
    parameters[row.at("rule")] = row.at("sizes").at("parameters");
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters.at("lact"), parameters.at("lact momentum"));
  EXPECT_GT(parameters.at("lact momentum"), parameters.at("lact gd"));
}

TEST(BenchVerb, ABlockHasAFeedForwardNetworkAroundItsLayer) {
  const std::string words = "mixers --shape '32 tokens gla'";
  const auto layer = quick_rows(words), block = quick_rows(words + " --block");
  ASSERT_EQ(layer.size(), 3u);
  ASSERT_EQ(block.size(), 3u);
  // Two norms of 32, and three matrices of 32 x 256.
  EXPECT_EQ(block[0].at("sizes").at("parameters").get<int>(),
            layer[0].at("sizes").at("parameters").get<int>() + 2 * 32 + 3 * 32 * 256);
  EXPECT_EQ(block[0].at("sizes").at("state"), layer[0].at("sizes").at("state"));
}

TEST(BenchVerb, StatesGrowWithTheWidthOfAHead) {
  const auto rows = quick_rows("states --shape muon");
  ASSERT_EQ(rows.size(), 3u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("sizes").at("state"), 3 * 64 * (16 << i));  // three matrices: 3 d times the width
    EXPECT_EQ(rows[i].at("sizes").at("chunk"), rows[i].at("sizes").at("tokens"));
  }
  EXPECT_EQ(quick_rows("states --shape /16").size(), 3u);
}

TEST(BenchVerb, ViewsOfAllThreeMixersAreReadAndRendered) {
  const lact::testing::TemporaryFolder folder;
  const auto rows = quick_rows("views -o '" + folder / "v.svg" + "'");
  ASSERT_EQ(rows.size(), 3u * 3u * 2u);
  for (const char* rule : {"lact", "full", "perceiver 16"}) {
    int64_t views = 1;
    for (const auto& row : rows) {
      if (row.at("rule") != rule || row.at("pass") != "render") continue;
      EXPECT_EQ(row.at("sizes").at("views"), views *= 2);
    }
    EXPECT_EQ(views, 8) << rule;
    EXPECT_THAT(lact::testing::read_file(folder / "v.svg"), HasSubstr(std::string(rule) + ", reading"));
  }
}

TEST(BenchVerb, WithoutPythonItsFiguresAreNull) {
  const auto outcome = run_program(
      "--threads 1 bench ttt --quick --json --repeats 1 --shape 16x32 --python /nowhere/python --peers "
      "'" +
      testing::source_folder() + "/bench/peers'");
  EXPECT_EQ(outcome.exit_code, 2);  // a named folder must work
  const auto looked_for =
      run_program("--threads 1 bench ttt --quick --json --repeats 1 --shape 16x32 --python /nowhere/python");
  ASSERT_EQ(looked_for.exit_code, 0) << looked_for.err;
  EXPECT_THAT(looked_for.err, HasSubstr("not compared with PyTorch"));
  const auto report = nlohmann::json::parse(looked_for.out);
  for (const auto& row : report.at("results")) {
    EXPECT_TRUE(row.at("vs_pytorch_f32").is_null());
    EXPECT_GT(row.at("seconds").get<double>(), 0);
  }
}

TEST(BenchVerb, AlonePrintsHelp) {
  const auto outcome = run_program("bench");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("newton-schulz"));
}

TEST(BenchVerb, MistakesAreOneSentence) {
  expect_mistake("bench tttt", "tttt");
  expect_mistake("bench ttt --repeats 0", "--repeats");
  expect_mistake("bench ttt --output x.svg", "--output");
  expect_mistake("bench machine --shape 3", "--shape");
  expect_mistake("bench ttt --block", "--block");
  expect_mistake("--reference bench ttt --quick", "--reference means nothing here");
  expect_mistake("bench ttt --quick --peers /nowhere", "/nowhere: there is no serve.py");
  expect_mistake("-q --threads 1 bench ttt --quick --no-peers --shape nothing",
                 "no shape of ttt contains \"nothing\"");
  expect_mistake("-q --threads 1 bench ttt --quick --no-peers --shape nothing --shape never",
                 "contains \"nothing\" or \"never\"");
}

}  // namespace
}  // namespace lact
