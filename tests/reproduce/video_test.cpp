// What the sections of figure 6 make of results, here small ones made by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "lact/base/error.h"
#include "lact/reproduce/experiment.h"
#include "lact/reproduce/video/trainings.h"
#include "support/experiments.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

namespace fs = std::filesystem;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using options::Json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The loss of the chunks before `counted`, the first of them is 1, says the opposite of the others.
Json evaluated(const std::string& name, double loss, double returning, int64_t chunks, int64_t counted) {
  std::vector<double> by_chunk(size_t(chunks), loss);
  for (int64_t chunk = 1; chunk < counted; ++chunk) by_chunk.at(size_t(chunk - 1)) = 1 - 10 * loss;
  return {{"name", name},
          {"parameters", 1000},
          {"by_chunk", by_chunk},
          {"reappearance", {{"returning", returning}, {"known", 0.1}, {"elsewhere", 0.01}}}};
}

class Figure6 : public ::testing::Test {
 protected:
  void add(const std::string& id, const std::string& printed, const std::string& metrics) {
    const std::string folder = folder_ / id;
    fs::create_directories(folder);
    write_file(folder + "/stdout.txt", printed);
    write_file(folder + "/metrics.jsonl", metrics);
    results_.add(id, {.folder = folder, .command = "lact", .seconds = 1, .machine = "a machine"});
  }

  /// Every step has finished: LaCT's loss is `lact`, the window's 0.05, that of the others 0.04, and a little
  /// more with every seed. The rate 0.024 is the best for LaCT, 0.006 for the others.
  void finish(const Experiment& experiment, double lact) {
    for (const Step& step : experiment.steps) {
      if (results_.has(step.id)) continue;
      const bool evaluates = step.words.size() > 1 && step.words[1] == "eval";
      if (!evaluates) {
        const bool best = step.id == "video-rate-lact-0.024" ||
                          (!step.id.starts_with("video-rate-lact") && step.id.ends_with("-0.006"));
        add(step.id, "",
            fmt::format(R"({{"step":9,"tokens":5000,"valid_loss":{}}})", best ? 0.1 : 0.2) + "\n");
        continue;
      }
      const double seed = step.id.back() - '0';
      Json models = Json::array();
      for (size_t i = 0; i + 1 < step.words.size(); ++i) {
        if (step.words[i] != "--model") continue;
        const std::string name = step.words[i + 1].substr(0, step.words[i + 1].find('='));
        const double loss = name.starts_with("LaCT") ? lact : name.starts_with("window") ? 0.05 : 0.04;
        const bool longer = step.id.starts_with("video-longer");
        models.push_back(evaluated(name, loss + 0.0001 * seed, 10 * loss + 0.001 * seed,
                                   longer ? video::kLongerChunks : video::kTrainedChunks,
                                   longer ? video::kTrainedChunks + 1 : video::kFirstReturn));
      }
      add(step.id, Json{{"models", models}}.dump(), "");
    }
  }

  Section section_of(const std::string& id, double lact) {
    for (const Experiment& experiment : video_experiments(kTwoHours)) {
      finish(experiment, lact);
      if (experiment.id == id) return experiment.section(results_);
    }
    ADD_FAILURE() << id;
    return {};
  }

  TemporaryFolder folder_;
  Results results_;
};

TEST_F(Figure6, HoldsWhereLactIsBetterThanTheWindowAndAsGoodAsFullAttention) {
  const Section section = section_of("fig6a", 0.03);
  EXPECT_THAT(verdicts(section), ElementsAre(Verdict::holds, Verdict::holds, Verdict::holds, Verdict::holds));
  ASSERT_EQ(section.charts.size(), 1U);
  ASSERT_EQ(section.charts[0].lines.size(), 4U);
  const Line& line = section.charts[0].lines[0];
  EXPECT_EQ(line.name, "LaCT");
  EXPECT_THAT(line.x, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_NEAR(line.y[4], 0.0302, 1e-9);
  EXPECT_NEAR(line.high[4] - line.y[4], 0.0001, 1e-9);
  EXPECT_THAT(section.tables.at(0).rows.at(1), Contains("0.0502 ± 0.0001"));
  EXPECT_EQ(section.tables.at(1).rows.at(0).back(), "0.024");
  EXPECT_EQ(section.tables.at(1).rows.at(1).back(), "0.006");
  EXPECT_THAT(section.notes.at(0), HasSubstr("5.0 k tokens"));
}

TEST_F(Figure6, DoesNotHoldWhereTheWindowIsBetter) {
  const Section section = section_of("fig6a", 0.06);
  EXPECT_THAT(verdicts(section), ElementsAre(Verdict::does_not_hold, Verdict::does_not_hold,
                                             Verdict::does_not_hold, Verdict::does_not_hold));
}

TEST_F(Figure6, ComparesEveryWindowSizeAndASmallOneWithLactAgainstALargeOneWithout) {
  const Section section = section_of("fig6b", 0.03);
  EXPECT_EQ(section.charts.at(0).lines.size(), 6U);
  EXPECT_EQ(section.findings.size(), 4U);
  EXPECT_EQ(section.verdict(), Verdict::holds);
  EXPECT_EQ(section.tables.at(0).rows.size(), 6U);
}

TEST_F(Figure6, LongerClipsCountBeyondTheTrainingAlone) {
  const Section section = section_of("fig6c", 0.03);
  EXPECT_EQ(section.charts.at(0).lines.at(0).x.size(), size_t(video::kLongerChunks));
  EXPECT_THAT(verdicts(section), ElementsAre(Verdict::holds, Verdict::holds));
  EXPECT_THAT(section.findings[0].statement, HasSubstr("chunks 6 to 10"));
  EXPECT_EQ(section.tables.at(0).rows.size(), 4U);
}

TEST_F(Figure6, ModelsOfLongerClipsBeginWithThoseOfFigure6a) {
  const auto experiments = video_experiments(kTwoHours);
  int64_t tuned = 0;
  for (const Step& step : experiments[2].steps) {
    if (step.id.find("-longer-") == std::string::npos || step.id.starts_with("video-longer")) continue;
    ++tuned;
    const auto init = std::find(step.words.begin(), step.words.end(), "--init");
    ASSERT_NE(init, step.words.end());
    const std::string begins =
        "@video-" + step.id.substr(6, step.id.find("-longer") - 6) + "-" + step.id.back();
    EXPECT_EQ(init[1], begins);
    EXPECT_THAT(step.words, Contains("200"));  // a fifth of the steps
  }
  EXPECT_EQ(tuned, 12);
}

TEST_F(Figure6, TrainingsTakeTheBestRateOfTheirOwnSweep) {
  const auto experiments = video_experiments(kTwoHours);
  finish(experiments[0], 0.03);
  for (const Step& step : experiments[0].steps) {
    if (!step.choose) continue;
    const bool lact = step.id.starts_with("video-lact");
    EXPECT_THAT(step.choose(results_), Contains(lact ? "0.024" : "0.006")) << step.id;
  }
}

TEST_F(Figure6, StepsThatFiguresShareAreAlikeAndEveryFolderThatIsReadIsMade) {
  for (const Plan& plan : {kTwoHours, Plan{.budget = Budget::smoke, .seeds = 1}}) {
    std::map<std::string, Words> known;
    for (const Experiment& experiment : video_experiments(plan)) {
      std::set<std::string> made;
      for (const Step& step : experiment.steps) {
        made.insert(step.id);
        const auto [place, is_new] = known.try_emplace(step.id, step.words);
        EXPECT_EQ(place->second, step.words) << step.id;
      }
      for (const Step& step : experiment.steps) {
        for (const std::string& need : step.needs) EXPECT_EQ(made.count(need), 1U) << need;
        for (const std::string& word : step.words) {
          const size_t at = word.find('@');
          if (at == std::string::npos || word.substr(at) == "@out") continue;
          EXPECT_EQ(made.count(word.substr(at + 1)), 1U) << word;
        }
      }
    }
  }
}

TEST(VideoReading, AveragesTheLossFromAChunkOn) {
  const video::Reading reading{.by_chunk = {8, 1, 2, 3}};
  EXPECT_DOUBLE_EQ(reading.mean_from(3), 2.5);
  EXPECT_THROW(reading.mean_from(5), Error);
}

TEST(VideoReading, SaysWhatAnEvaluationLacks) {
  const auto message = [](const Json& json) -> std::string {
    try {
      video::reading(json, "LaCT");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Json one = evaluated("LaCT", 0.1, 0.2, 5, 1);
  EXPECT_EQ(message({{"models", {one}}}), "");
  EXPECT_THAT(message(Json::object()), HasSubstr("no list of models"));
  EXPECT_THAT(message({{"models", {evaluated("other", 1, 1, 5, 1)}}}), HasSubstr("no model LaCT"));
  one["reappearance"]["returning"] = nullptr;
  EXPECT_THAT(message({{"models", {one}}}), HasSubstr("LaCT has no number returning"));
}

}  // namespace
}  // namespace lact::reproduce
