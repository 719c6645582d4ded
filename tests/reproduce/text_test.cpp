// The text experiments: which steps they ask for, and what they read from results made by hand.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "lact/reproduce/experiment.h"
#include "support/experiments.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

using ::testing::HasSubstr;

const Step& step(const Experiment& experiment, const std::string& id) {
  const auto found = std::find_if(experiment.steps.begin(), experiment.steps.end(),
                                  [&](const Step& step) { return step.id == id; });
  if (found == experiment.steps.end()) throw std::runtime_error("no step " + id);
  return *found;
}

bool has(const Words& words, const std::string& option, const std::string& value) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == option && words[i + 1] == value) return true;
  }
  return false;
}

/// Folders of finished steps whose losses a test chooses.
class MadeResults {
 public:
  void json(const std::string& id, const nlohmann::json& json) { file(id, "stdout.txt", json.dump()); }

  void file(const std::string& id, const std::string& name, const std::string& text) {
    const std::string folder = folder_ / id;
    std::filesystem::create_directories(folder);
    lact::testing::write_file(folder + "/" + name, text);
    results.add(id, {folder, "lact " + id, 1, "a machine"});
  }

  /// Everything that a section reads: `early` and `late` losses of a contender for three seeds.
  void contender(const std::string& name, double early, double late, double right, int64_t state) {
    const std::string id = "text_" + name;
    nlohmann::json losses = {{"models", nlohmann::json::array()}}, recalls = losses;
    for (int seed = 1; seed <= 3; ++seed) {
      const double noise = 0.001 * seed;
      losses["models"].push_back({{"position", {1, 2, 3, 4}}, {"loss", {early + noise, 9, 9, late + noise}}});
      const nlohmann::json near = {{"from", 4}, {"below", 8}, {"asked", 100}, {"accuracy", 0.0}};
      const nlohmann::json far = {{"from", 64}, {"below", 128}, {"asked", 50}, {"accuracy", right + noise}};
      recalls["models"].push_back({{"by_distance", {near, far}}});
    }
    json(id + "_loss", losses);
    json(id + "_recall", recalls);
    json(id + "_info", {{"parameters", 1000 + state}, {"state", state}});
    for (const std::string rate : {"0.006", "0.012", "0.024"}) {
      file(id + "_rate" + rate, "metrics.jsonl",
           fmt::format("{{\"step\":1,\"valid_loss\":{}}}\n", rate == "0.012" ? 1.5 : 2.5));
    }
    const nlohmann::json model = {{"num_layers", 1},
                                  {"model_dim", 64},
                                  {"chunk_size", 32},
                                  {"layer", {{"projection", {{"conv_width", 4}}}}}};
    const nlohmann::json run = {{"batches", {{"batch", 8}, {"length", 256}}},
                                {"data", {{"recall", {{"facts", 24}, {"names", 32}, {"things", 16}}}}},
                                {"model", model},
                                {"training", {{"steps", 10}}}};
    file(id + "_seed1", "run.json", run.dump());
  }

  Results results;

 private:
  lact::testing::TemporaryFolder folder_;
};

TEST(TextExperimentsTest, StepsOfOneIdAreAlikeAndNameOnlyStepsOfTheirExperiment) {
  for (const Budget budget : {Budget::smoke, Budget::two_hours, Budget::overnight}) {
    std::map<std::string, Words> known;
    for (const auto& one : text_experiments({budget, 3})) {
      std::set<std::string> ids;
      for (const auto& step : one.steps) EXPECT_TRUE(ids.insert(step.id).second) << step.id;
      for (const auto& step : one.steps) {
        EXPECT_EQ(known.try_emplace(step.id, step.words).first->second, step.words) << step.id;
        for (const auto& needed : step.needs) EXPECT_TRUE(ids.contains(needed)) << needed;
        for (const auto& word : step.words) {
          const size_t at = word.find('@');
          if (at == std::string::npos) continue;
          const std::string name = word.substr(at + 1, word.find('/', at) - at - 1);
          EXPECT_TRUE(name == "out" || ids.contains(name)) << word;
        }
      }
    }
  }
}

TEST(TextExperimentsTest, EveryContenderIsTunedOverTheSameGridAndHasThreeSeeds) {
  for (const auto& one : text_experiments(kTwoHours)) {
    std::map<std::string, std::set<std::string>> rates;
    std::map<std::string, int> seeds;
    for (const auto& step : one.steps) {
      const size_t rate = step.id.find("_rate"), seed = step.id.find("_seed");
      if (rate != std::string::npos) rates[step.id.substr(0, rate)].insert(step.id.substr(rate));
      if (seed != std::string::npos) ++seeds[step.id.substr(0, seed)];
    }
    EXPECT_GE(seeds.size(), 2U) << one.id;
    for (const auto& [name, count] : seeds) {
      EXPECT_EQ(count, 3) << name;
      EXPECT_EQ(rates[name], rates.begin()->second) << name;
    }
  }
}

TEST(TextExperimentsTest, TheBestRateOfTheSweepIsTaken) {
  const Experiment optimizers = find_experiment(text_experiments(kTwoHours), "fig7b");
  MadeResults made;
  made.contender("gd", 2, 2, 0.5, 100);
  const Words words = step(optimizers, "text_gd_seed2").choose(made.results);
  EXPECT_TRUE(has(words, "--rate", "0.012"));
  EXPECT_TRUE(has(words, "--seed", "2"));
  EXPECT_TRUE(has(words, "--set", "layer.memory.update.muon=false"));
  EXPECT_TRUE(has(words, "--set", "window_size=32") && has(words, "--set", "chunk_size=32"));
}

TEST(TextExperimentsTest, LossAndRetrievalDecideFigureFive) {
  MadeResults made;
  for (const std::string name : {"full", "window", "gla", "deltanet", "gla_1", "deltanet_1", "momentum"})
    made.contender(name, 2, 2.5, 0.3, 100);
  made.contender("muon", 2, 1.5, 0.9, 100);
  const Experiment five = find_experiment(text_experiments(kTwoHours), "fig5");
  const Section section = five.section(made.results);
  EXPECT_EQ(section.findings.size(), 11U);
  for (const auto& finding : section.findings)
    EXPECT_EQ(finding.verdict, Verdict::holds) << finding.statement;
  ASSERT_EQ(section.charts.size(), 2U);
  EXPECT_EQ(section.charts[0].lines.size(), 8U);
  EXPECT_EQ(section.charts[0].lines[7].y.size(), 4U);
  EXPECT_NEAR(section.charts[1].lines[7].y[1], 90.2, 1e-9);
  EXPECT_THAT(section.notes, ::testing::Contains(HasSubstr("20480 tokens")));
  EXPECT_EQ(section.tables[1].rows[0].back(), "0.012");

  // Questions about what is still in the window do not count.
  made.contender("gla", 2, 1.0, 0.3, 100);
  const Section other = five.section(made.results);
  EXPECT_EQ(std::count_if(other.findings.begin(), other.findings.end(),
                          [](const Finding& one) { return one.verdict == Verdict::does_not_hold; }),
            1);
}

TEST(TextExperimentsTest, TheGapBetweenStatesHasToWiden) {
  MadeResults made;
  made.contender("muon_heads8", 2.0, 2.6, 0, 10);
  made.contender("muon_heads4", 2.0, 2.4, 0, 20);
  made.contender("muon", 2.0, 2.2, 0, 40);
  made.contender("muon_heads1", 1.9, 2.0, 0, 80);
  EXPECT_EQ(find_experiment(text_experiments(kTwoHours), "fig7a").section(made.results).verdict(),
            Verdict::holds);
  const Section curve = find_experiment(text_experiments(kTwoHours), "fig1c").section(made.results);
  EXPECT_EQ(curve.verdict(), Verdict::holds);
  EXPECT_EQ(curve.charts[0].lines[0].x, (std::vector<double>{10, 20, 40, 80}));

  made.contender("muon_heads1", 1.3, 2.0, 0, 80);
  EXPECT_EQ(find_experiment(text_experiments(kTwoHours), "fig7a").section(made.results).verdict(),
            Verdict::does_not_hold);
}

TEST(TextExperimentsTest, NonlinearStatesAreComparedAtASmallerSize) {
  MadeResults made;
  made.contender("linear_muon", 2, 2.2, 0, 100);
  made.contender("muon_heads4", 2, 2.0, 0, 75);
  made.contender("muon", 2, 1.9, 0, 300);
  EXPECT_EQ(find_experiment(text_experiments(kTwoHours), "fig8a").section(made.results).verdict(),
            Verdict::holds);
  made.contender("muon_heads4", 2, 2.0, 0, 150);
  EXPECT_EQ(find_experiment(text_experiments(kTwoHours), "fig8a").section(made.results).verdict(),
            Verdict::does_not_hold);
}

}  // namespace
}  // namespace lact::reproduce
