// What the RULER tables say of results that were made by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "lact/reproduce/experiment.h"
#include "lact/reproduce/ruler/retrieval.h"
#include "support/errors.h"
#include "support/experiments.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using options::Json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Experiment ruler_experiment(const std::string& id, const Plan& plan = kTwoHours) {
  return find_experiment(ruler_experiments(plan), id);
}

/// Folders as trainings and evaluations leave them.
class ReproducedRuler : public ::testing::Test {
 protected:
  using Score = std::function<double(const std::string& contender, int64_t seed)>;

  void add(const std::string& id, const std::string& file, const std::string& text) {
    const std::string folder = folder_ / id;
    std::filesystem::create_directories(folder);
    write_file(folder + "/" + file, text);
    results_.add(id, {folder, "lact " + id, 1, "a processor"});
  }

  void pretend(const Plan& plan, const Score& score) {
    const auto size = ruler::size(plan);
    for (const auto& contender : ruler::contenders()) {
      for (const auto& rate : size.rates) {
        const double loss = rate == size.rates.back() ? 0.5 : 1.5;
        add(ruler::sweep_id(contender, rate), "metrics.jsonl",
            fmt::format("{{\"step\": 1, \"valid_loss\": {}}}\n", loss));
      }
      add(ruler::info_id(contender), "stdout.txt", "{\"parameters\": 123456}");
      for (int64_t seed = 1; seed <= size.seeds; ++seed)
        add(ruler::scores_id(contender, seed), "stdout.txt", scores(size, score(contender.id, seed)).dump());
    }
  }

  static Json scores(const ruler::Size& size, double score) {
    Json cells = Json::array();
    for (const char* task : {"niah_single_1", "niah_single_2", "niah_single_3", "niah_multikey_1",
                             "niah_multivalue", "niah_multiquery"}) {
      for (const int64_t length : size.lengths)
        cells.push_back({{"task", task}, {"length", length}, {"score", score}});
    }
    return {{"task", "ruler"}, {"models", {{{"name", "any"}, {"scores", cells}}}}};
  }

  TemporaryFolder folder_;
  Results results_;
};

double muon_first(const std::string& contender, int64_t seed) {
  const double jitter = 0.5 * double(seed);
  if (contender == "full") return 95 + jitter;
  if (contender == "lact_muon") return 90 + jitter;
  return contender == "lact_momentum" ? 80 + jitter : 50 + jitter;
}

TEST_F(ReproducedRuler, ClaimsHoldWhereMuonIsAhead) {
  pretend(kTwoHours, muon_first);
  for (const char* id : {"tab_ruler_single", "tab_ruler_multi"}) {
    const Section section = ruler_experiment(id).section(results_);
    ASSERT_THAT(section.findings, SizeIs(4));
    for (const auto& finding : section.findings)
      EXPECT_EQ(finding.verdict, Verdict::holds) << finding.statement;
    for (const auto& table : section.tables)
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.header.size()) << table.title;
    EXPECT_THAT(section.tables.at(0).rows, SizeIs(ruler::contenders().size()));
    EXPECT_EQ(section.tables[0].rows.back().front(), "LaCT, Muon");
    EXPECT_EQ(section.tables[0].rows.back().back(), "91.0 ± 0.5");
    EXPECT_EQ(section.tables.at(2).rows.front().back(), ruler::size(kTwoHours).rates.back()) << "chosen";
    ASSERT_THAT(section.charts, SizeIs(4));
    for (const auto& line : section.charts[0].lines) {
      EXPECT_EQ(line.x.size(), ruler::size(kTwoHours).lengths.size());
      EXPECT_EQ(line.low.size(), line.y.size());
    }
    EXPECT_THAT(section.notes.at(0), HasSubstr("LaCT, Muon 123456"));
    EXPECT_THAT(section.paper, SizeIs(5));
  }
}

TEST_F(ReproducedRuler, ClaimsFailWhereOthersAreAhead) {
  pretend(kTwoHours, [](const std::string& contender, int64_t seed) {
    return (contender == "lact_muon" ? 40 : 80) + 0.5 * double(seed);
  });
  const Section section = ruler_experiment("tab_ruler_single").section(results_);
  for (const auto& finding : section.findings)
    EXPECT_EQ(finding.verdict, Verdict::does_not_hold) << finding.statement;
}

TEST_F(ReproducedRuler, NothingIsClaimedWhereNobodyHasLearnt) {
  pretend(kTwoHours, [](const std::string& contender, int64_t seed) {
    return (contender == "lact_muon" ? 6 : 1) + 0.1 * double(seed);
  });
  for (const auto& finding : ruler_experiment("tab_ruler_single").section(results_).findings) {
    EXPECT_EQ(finding.verdict, Verdict::inconclusive);
    EXPECT_THAT(finding.because, HasSubstr("None has learnt these tasks"));
  }
}

TEST_F(ReproducedRuler, MissingCellsAndNumbersAreSentences) {
  pretend(kTwoHours, muon_first);
  const auto size = ruler::size(kTwoHours);
  const std::string id = ruler::scores_id(ruler::contenders()[1], 2);
  auto short_of_one = scores(size, 50);
  short_of_one["models"][0]["scores"].erase(0);
  add(id, "stdout.txt", short_of_one.dump());
  EXPECT_SENTENCE(ruler_experiment("tab_ruler_single").section(results_), id + ": has ");
  auto without_number = scores(size, 50);
  without_number["models"][0]["scores"][0]["score"] = "high";
  add(id, "stdout.txt", without_number.dump());
  EXPECT_SENTENCE(ruler_experiment("tab_ruler_single").section(results_), "has no number \"score\"");
}

TEST_F(ReproducedRuler, OtherSeedsTakeTheBestRateAndScoresTheirFolders) {
  pretend(kTwoHours, muon_first);
  const auto size = ruler::size(kTwoHours);
  const auto& muon = ruler::contenders().back();
  std::set<std::string> ids;
  for (const auto& step : ruler_experiment("tab_ruler_single").steps) {
    EXPECT_TRUE(ids.insert(step.id).second) << step.id;
    for (const auto& need : step.needs) EXPECT_THAT(ids, Contains(need)) << "needed by " << step.id;
    if (step.id == ruler::training_id(muon, 2)) {
      const Words words = step.choose(results_);
      EXPECT_EQ(*(std::find(words.begin(), words.end(), "--rate") + 1), size.rates.back());
      EXPECT_EQ(*(std::find(words.begin(), words.end(), "--seed") + 1), "2");
    }
    if (step.id == ruler::scores_id(muon, 1)) {
      EXPECT_THAT(step.choose(results_), Contains("lact_muon=@" + ruler::sweep_id(muon, size.rates.back())));
    }
    if (step.id == ruler::scores_id(muon, 3)) {
      EXPECT_THAT(step.choose(results_), Contains("lact_muon=@" + ruler::training_id(muon, 3)));
    }
  }
}

TEST_F(ReproducedRuler, BothTablesShareTheirSteps) {
  const auto single = ruler_experiment("tab_ruler_single"), several = ruler_experiment("tab_ruler_multi");
  ASSERT_EQ(single.steps.size(), several.steps.size());
  for (size_t i = 0; i < single.steps.size(); ++i) {
    EXPECT_EQ(single.steps[i].id, several.steps[i].id);
    EXPECT_EQ(single.steps[i].words, several.steps[i].words);
  }
}

TEST_F(ReproducedRuler, SmokeHasOneSeedAndOneRate) {
  const Plan smoke = {Budget::smoke, 3};
  pretend(smoke, muon_first);
  const Section section = ruler_experiment("tab_ruler_multi", smoke).section(results_);
  for (const auto& finding : section.findings) EXPECT_EQ(finding.verdict, Verdict::inconclusive);
  EXPECT_TRUE(section.charts[0].lines[0].low.empty());
}

}  // namespace
}  // namespace lact::reproduce
