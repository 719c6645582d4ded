// What sections about speed make of the output of `lact bench` and `lact info`.
#include "lact/reproduce/speed/speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lact/base/error.h"
#include "lact/reproduce/speed/bench_rows.h"
#include "support/experiments.h"

namespace lact::reproduce {
namespace {

using options::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json speed_row(const std::string& rule, const std::string& pass, double seconds, const Json& share,
               Json sizes) {
  return {{"area", "any"},
          {"shape", "any"},
          {"rule", rule},
          {"pass", pass},
          {"precision", "bf16"},
          {"seconds", seconds},
          {"median_seconds", seconds},
          {"share_of_peak", share},
          {"note", nullptr},
          {"sizes", std::move(sizes)}};
}

Json speed_output(std::vector<Json> rows) {
  return {{"machine",
           {{"cpu", "a processor"},
            {"threads", 2},
            {"isa", "avx512"},
            {"peak_gflops", 400},
            {"peak_of", "bf16"},
            {"read_gb_per_s", 36.6}}},
          {"command", "lact bench"},
          {"results", rows}};
}

template <class Action>
std::string speed_sentence(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Shares of the peak by chunks of 16, 64 and 4096 tokens.
Json chunk_rows(double large, double original) {
  std::vector<Json> rows;
  for (const auto& [rule, factor] : std::vector<std::pair<std::string, double>>{{"gd", large},
                                                                                {"linear gd", large / 2},
                                                                                {"muon", large / 4},
                                                                                {"ttt_linear", original},
                                                                                {"ttt_mlp", original / 2}}) {
    // Chunks beyond the original regime's do not count for it.
    const double shares[] = {0.1 * factor, 0.5 * factor, factor};
    const double tokens[] = {16, 64, 4096};
    for (int i : {2, 0, 1})
      rows.push_back(speed_row(
          rule, "forward+backward", 1, shares[i],
          {{"heads", 4}, {"tokens", 4096}, {"chunk", tokens[i]}, {"width", 256}, {"state", 786432}}));
  }
  return speed_output(rows);
}

TEST(SpeedChunks, LargeChunksAreHeldAgainstTheBestOfTheOriginalRegime) {
  const Section good = chunks_section(chunk_rows(0.6, 0.5), false);
  EXPECT_THAT(verdicts(good), ElementsAre(Verdict::holds, Verdict::holds, Verdict::holds));
  EXPECT_THAT(good.findings[0].because,
              HasSubstr("2.4; 60 % of the peak against 25 % (TTT-Linear with chunks of 64)"));
  EXPECT_THAT(good.findings[0].rule, HasSubstr("at least 2"));
  const Section bad = chunks_section(chunk_rows(0.06, 0.1), false);
  EXPECT_THAT(verdicts(bad), ElementsAre(Verdict::does_not_hold, Verdict::holds, Verdict::does_not_hold));
}

TEST(SpeedChunks, AllRegimesAreDrawnInTheOrderOfTheChunks) {
  const Section section = chunks_section(chunk_rows(0.6, 0.2), false);
  ASSERT_EQ(section.charts.size(), 1u);
  ASSERT_EQ(section.charts[0].lines.size(), 6u);
  EXPECT_EQ(section.charts[0].lines[1].name, "LaCT, Muon");
  EXPECT_THAT(section.charts[0].lines[0].x, ElementsAre(16, 64, 4096));
  EXPECT_DOUBLE_EQ(section.charts[0].lines[0].y[2], 60);
  EXPECT_TRUE(section.charts[0].lines[5].dashed);
  ASSERT_EQ(section.tables.size(), 1u);
  EXPECT_THAT(section.tables[0].rows[1], ElementsAre("64", "30", "7.5", "15", "10", "5"));
  EXPECT_THAT(section.notes[0], HasSubstr("400 GFLOP/s in bf16"));
}

TEST(SpeedChunks, QuickShapesGiveNoVerdict) {
  const Section section = chunks_section(chunk_rows(0.6, 0.2), true);
  EXPECT_THAT(verdicts(section), ::testing::Each(Verdict::inconclusive));
  EXPECT_THAT(section.findings[0].rule, HasSubstr("--quick"));
}

/// Seconds and shares of states of 1, 4 and 16 thousand numbers.
Json state_rows(double last_large, double last_small) {
  std::vector<Json> rows;
  const auto add = [&](const char* rule, double chunk, std::vector<double> shares) {
    for (size_t i = 0; i < shares.size(); ++i)
      rows.push_back(speed_row(rule, "forward+backward", 1, shares[i],
                               {{"heads", 4 >> i},
                                {"tokens", 4096},
                                {"chunk", chunk},
                                {"width", 16 << i},
                                {"state", 1000 << (2 * i)}}));
  };
  add("gd", 4096, {0.5, 0.6, last_large});
  add("muon", 4096, {0.4, 0.4, 0.3});
  add("gd", 64, {0.3, 0.3, last_small});
  return speed_output(rows);
}

TEST(SpeedStates, ThroughputHasToStayHighWhileTheStateGrows) {
  const Section good = states_section(state_rows(0.58, 0.1), false);
  EXPECT_THAT(verdicts(good), ElementsAre(Verdict::holds, Verdict::holds));
  EXPECT_THAT(good.findings[0].statement, HasSubstr("grows 16 times"));
  EXPECT_THAT(verdicts(states_section(state_rows(0.3, 0.25), false)),
              ElementsAre(Verdict::does_not_hold, Verdict::does_not_hold));
  ASSERT_EQ(good.charts.size(), 1u);
  ASSERT_EQ(good.charts[0].lines.size(), 3u);
  EXPECT_EQ(good.charts[0].lines[2].name, "gradient descent, chunks of 64");
  EXPECT_THAT(good.charts[0].lines[2].x, ElementsAre(1000, 4000, 16000));
  EXPECT_THAT(good.charts[0].lines[2].y, ElementsAre(30, 30, 10));
}

TEST(SpeedStates, SmallChunksMustNotBeMissing) {
  Json only_large = speed_output(
      {speed_row("gd", "forward+backward", 1, 0.5, {{"tokens", 64}, {"chunk", 64}, {"state", 1}})});
  EXPECT_THAT(speed_sentence([&] { states_section(only_large, false); }),
              HasSubstr("no row with several chunks"));
}

/// Linear and constant for LaCT, quadratic and linear for full attention, but for `power`.
Json view_rows(double power) {
  std::vector<Json> rows;
  for (const double n : {8.0, 4.0, 16.0}) {
    const auto add = [&](const char* rule, const char* pass, double seconds, double parameters) {
      rows.push_back(
          speed_row(rule, pass, seconds, nullptr,
                    {{"views", n}, {"pixels", 128}, {"tokens_of_view", 256}, {"parameters", parameters}}));
    };
    add("lact", "reconstruct", 0.02 * std::pow(n, power), 7e6);
    add("lact", "render", 0.05, 7e6);
    add("full", "reconstruct", 0.01 * n * n, 6e6);
    add("full", "render", 0.02 * n, 6e6);
    add("perceiver 256", "reconstruct", 0.02 * n, 6.5e6);
    add("perceiver 256", "render", 0.06, 6.5e6);
  }
  return speed_output(rows);
}

Infos view_infos() {
  const auto info = [](double parameters, double state, double grows) {
    return Json{{"parameters", parameters},
                {"state", state},
                {"model_dim", 10},
                {"blocks", {{{"count", 2}, {"grows_per_token_d", grows}, {"kept_tokens", 1000}}}}};
  };
  return {{"nvs_full", info(284e6, 0, 2)},
          {"nvs_perceiver", info(287e6, 3e6, 0)},
          {"nvs_312m", info(312e6, 84e6, 0)}};
}

TEST(SpeedPrefill, LinearAndConstantIsLactAlone) {
  const Section section = prefill_section(view_rows(1), view_infos(), false);
  EXPECT_EQ(section.findings.size(), 7u);
  EXPECT_THAT(verdicts(section), ::testing::Each(Verdict::holds));
  ASSERT_EQ(section.charts.size(), 2u);
  EXPECT_THAT(section.charts[0].lines[2].x, ElementsAre(4, 8, 16));
  EXPECT_EQ(section.tables[1].rows[0],
            (std::vector<std::string>{"4", "12.5", "16.7", "20"}));  // frames per second
  EXPECT_EQ(section.tables[2].rows[0][3], "0.04M");                  // 2 blocks x 2 x 1000 tokens x width 10
  EXPECT_THAT(section.notes[1], HasSubstr("LaCT 7M"));
}

TEST(SpeedPrefill, AQuadraticLactIsFound) {
  const Section section = prefill_section(view_rows(2), view_infos(), false);
  EXPECT_EQ(section.findings[0].verdict, Verdict::does_not_hold);  // linear
  EXPECT_EQ(section.findings[2].verdict, Verdict::does_not_hold);  // faster than full attention
  EXPECT_EQ(section.findings[3].verdict, Verdict::holds);          // a frame
}

TEST(SpeedPrefill, HalfOfTheMostViewsHasToBeThere) {
  Json bench = view_rows(1);
  Json few = Json::array();
  for (const auto& one : bench["results"])
    if (one["sizes"]["views"] != 8.0) few.push_back(one);
  bench["results"] = few;
  EXPECT_THAT(speed_sentence([&] { prefill_section(bench, view_infos(), false); }),
              HasSubstr("with 8 views"));
}

Json mixer_rows(double muon_seconds) {
  std::vector<Json> rows;
  for (const double tokens : {512.0, 1024.0}) {
    const auto add = [&](const char* rule, double seconds, double state) {
      rows.push_back(speed_row(rule, "training step", seconds * tokens / 1024, nullptr,
                               {{"tokens", tokens},
                                {"width", 512},
                                {"chunk", 256},
                                {"window", 256},
                                {"state", state},
                                {"parameters", 3e6}}));
    };
    add("full", 2 * tokens / 1024, 0);
    add("window", 0.5, 0);
    add("gla", 0.8, 512 * 256);
    add("deltanet", 0.75, 512 * 128);
    add("lact gd", 0.85, 512 * 768);
    add("lact momentum", 0.87, 512 * 768);
    add("lact", muon_seconds, 512 * 768);
  }
  return speed_output(rows);
}

Infos text_infos(double gla_state) {
  const auto info = [](double state, double grows) {
    return Json{
        {"parameters", 3e9}, {"state_per_block_d", state}, {"blocks", {{{"grows_per_token_d", grows}}}}};
  };
  return {{"lm_3b_full", info(0, 2)},
          {"lm_3b_window", info(0, 0)},
          {"lm_3b_gla", info(gla_state, 0)},
          {"lm_3b_deltanet", info(128, 0)},
          {"lm_3b_paper", info(2304, 0)}};
}

TEST(SpeedTraining, TheOrderIsThePapers) {
  const Section section = training_section(mixer_rows(1), text_infos(384), false);
  EXPECT_EQ(section.findings.size(), 9u);
  EXPECT_THAT(verdicts(section), ::testing::Each(Verdict::holds));
  EXPECT_THAT(section.findings[0].because, HasSubstr("1024 against 512 tokens/s; the paper's ratio is 1.05"));
  ASSERT_EQ(section.charts.size(), 1u);
  EXPECT_EQ(section.charts[0].lines.size(), 7u);
  EXPECT_THAT(section.charts[0].lines[0].y, ElementsAre(1024, 512));
  EXPECT_EQ(section.tables[0].rows[6],
            (std::vector<std::string>{"LaCT with Muon", "768", "1024", "2.00", "2304", "4.3K", "1.05"}));
  EXPECT_EQ(section.tables[2].rows.size(), 5u);
}

TEST(SpeedTraining, AnotherOrderIsFound) {
  const Section slow = training_section(mixer_rows(3), text_infos(383), false);
  EXPECT_EQ(slow.findings[0].verdict, Verdict::does_not_hold);  // slower than full attention
  EXPECT_EQ(slow.findings[4].verdict, Verdict::holds);          // slower than momentum
  EXPECT_EQ(slow.findings[6].verdict, Verdict::does_not_hold);  // GLA's state
  EXPECT_EQ(training_section(mixer_rows(0.5), text_infos(384), false).findings[4].verdict,
            Verdict::does_not_hold);
}

TEST(SpeedTraining, StatesAreJudgedAtTheSizesOfQuick) {
  const auto all = verdicts(training_section(mixer_rows(1), text_infos(384), true));
  EXPECT_EQ(std::count(all.begin(), all.end(), Verdict::inconclusive), 6);
  EXPECT_EQ(std::count(all.begin(), all.end(), Verdict::holds), 3);
}

Json rank_rows(double ranks_seconds) {
  const auto one = [](const char* rule, double seconds, int ranks) {
    return speed_row(rule, "forward+backward", seconds, nullptr,
                     {{"tokens", 32768}, {"chunk", 8192}, {"ranks", ranks}, {"threads", 2 / ranks}});
  };
  return speed_output({one("1 process x 2", 10, 1), one("2 ranks x 1", ranks_seconds, 2)});
}

TEST(SpeedParallel, OverheadIsInPercent) {
  const Section good = parallel_section(rank_rows(10.1), false);
  EXPECT_THAT(verdicts(good), ElementsAre(Verdict::holds));
  EXPECT_THAT(good.tables[0].rows[0], ElementsAre("32768", "8192", "10", "10.1", "+1.0 %"));
  EXPECT_THAT(verdicts(parallel_section(rank_rows(9.8), false)), ElementsAre(Verdict::holds));
  EXPECT_THAT(verdicts(parallel_section(rank_rows(10.5), false)), ElementsAre(Verdict::does_not_hold));
}

TEST(SpeedRows, WhatIsMissingGetsASentence) {
  const auto without = [](Json whole, const char* name) {
    whole["results"][1].erase(name);
    return speed_sentence([&] { parallel_section(whole, false); });
  };
  const Json whole = rank_rows(10);
  EXPECT_THAT(without(whole, "seconds"), HasSubstr("row 2 of bench parallel has no \"seconds\""));
  EXPECT_THAT(without(whole, "sizes"), HasSubstr("row 2 of bench parallel has no \"sizes\""));
  Json broken = whole;
  broken["results"][0]["sizes"]["tokens"] = "many";
  EXPECT_THAT(speed_sentence([&] { parallel_section(broken, false); }), HasSubstr("\"tokens\" of \"sizes\""));
  broken = whole;
  broken["results"][1]["seconds"] = nullptr;
  EXPECT_THAT(speed_sentence([&] { parallel_section(broken, false); }), HasSubstr("its answer was wrong"));
  broken = whole;
  broken.erase("machine");
  EXPECT_THAT(speed_sentence([&] { parallel_section(broken, false); }), HasSubstr("has no \"machine\""));
  EXPECT_THAT(speed_sentence([&] { parallel_section(speed_output({}), false); }), HasSubstr("has no rows"));
  EXPECT_THAT(speed_sentence([&] { parallel_section(Json(), false); }),
              HasSubstr("what bench parallel printed"));
  EXPECT_THAT(speed_sentence([&] { chunks_section(whole, false); }),
              HasSubstr("no row of gd, forward+backward"));
  EXPECT_THAT(speed_sentence([&] { training_section(mixer_rows(1), {}, false); }),
              HasSubstr("know nothing of lm_3b_gla"));
  Infos infos = view_infos();
  infos["nvs_full"].erase("parameters");
  EXPECT_THAT(
      speed_sentence([&] { prefill_section(view_rows(1), infos, false); }),
      HasSubstr("lact info nvs_full --views 48 --image-size 512 --json` printed has no \"parameters\""));
}

TEST(SpeedExperiments, MeasurementsRunAloneAndWithoutPyTorch) {
  for (const Budget budget : {Budget::smoke, Budget::two_hours, Budget::eight_hours}) {
    std::set<std::string> ids;
    for (const Experiment& experiment : speed_experiments({budget, 3})) {
      for (const Step& step : experiment.steps) {
        EXPECT_TRUE(ids.insert(step.id).second) << step.id;
        const auto has = [&](const char* word) {
          return std::find(step.words.begin(), step.words.end(), word) != step.words.end();
        };
        EXPECT_TRUE(has("--json")) << step.id;
        const bool measures = step.words.front() == "bench";
        EXPECT_EQ(step.alone, measures) << step.id;
        EXPECT_EQ(has("--no-peers"), measures) << step.id;
        EXPECT_EQ(has("--quick"), measures && budget == Budget::smoke) << step.id;
      }
    }
    EXPECT_EQ(ids.size(), 13u);
  }
}

}  // namespace
}  // namespace lact::reproduce
