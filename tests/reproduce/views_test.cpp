// What the figures about views say of results that were made by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include "lact/reproduce/experiment.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace lact::reproduce {
namespace {

using lact::testing::sentence_of;
using lact::testing::TemporaryFolder;
using lact::testing::write_file;
using options::Json;
using ::testing::HasSubstr;

/// What a pretended contender does: its id is the name of a model, such as lact_x2.
struct Pretended {
  std::function<double(const std::string& model, int64_t views)> psnr = [](const auto&, int64_t) {
    return 20.0;
  };
  std::function<double(const std::string& model, const std::string& rate)> sweep =
      [](const auto&, const auto&) { return 15.0; };
  std::map<std::string, double> tokens_per_second;  ///< 100 where nothing is said
  double splats = 10;
};

std::string word_after(const Words& words, const std::string& option) {
  const auto found = std::find(words.begin(), words.end(), option);
  return found == words.end() ? "" : *(found + 1);
}

std::string join(const Words& words) { return fmt::format("{}", fmt::join(words, " ")); }

class ReproducedViews : public ::testing::Test {
 protected:
  static Experiment experiment(const std::string& id, Budget budget = Budget::two_hours) {
    for (Experiment& one : views_experiments({budget, budget == Budget::smoke ? 1 : 3}))
      if (one.id == id) return one;
    throw std::runtime_error("no experiment " + id);
  }

  /// "views_lact_x2_3" is a training of lact_x2 with seed 3, "views_rate_lact_x2_0.003" one of its sweep.
  static std::string model_of(const std::string& id) {
    const std::string begin = id.rfind("views_rate_", 0) == 0 ? "views_rate_" : "views_";
    return id.substr(begin.size(), id.rfind('_') - begin.size());
  }

  void train(const Step& step, const Pretended& pretended) {
    const bool sweep = step.id.rfind("views_rate_", 0) == 0;
    const std::string model = model_of(step.id);
    const double jitter = sweep ? 0 : 0.01 * std::stod(word_after(step.words, "--seed"));
    const double end = jitter + (sweep ? pretended.sweep(model, word_after(step.words, "--rate"))
                                       : pretended.psnr(model, 8));
    const auto speed = pretended.tokens_per_second.find(model);
    const int64_t steps = std::stoll(word_after(step.words, "--steps"));
    std::string lines;
    for (const int64_t part : {1, 2}) {
      const int64_t at = steps * part / 2;
      lines += Json({{"step", at},
                     {"tokens", 10 * at},
                     {"tokens_per_second", speed == pretended.tokens_per_second.end() ? 100 : speed->second}})
                   .dump() +
               "\n" +
               Json({{"step", at}, {"valid_psnr", part == 1 ? end - 5 : end}, {"valid_ssim", 0.5}}).dump() +
               "\n";
    }
    write_file(folder_ / (step.id + "/metrics.jsonl"), lines);
  }

  Json evaluate(const Step& step, const Pretended& pretended) {
    Json json = {{"means", Json::array()}};
    std::istringstream counts(word_after(step.words, "--counts"));
    const double jitter = 0.01 * double(step.id.back() - '0');
    for (std::string count; std::getline(counts, count, ',');)
      for (size_t i = 0; i < step.words.size(); ++i) {
        if (step.words[i] != "--model") continue;
        const std::string model = step.words[i + 1].substr(0, step.words[i + 1].find('='));
        json["means"].push_back({{"model", model},
                                 {"group", "procedural"},
                                 {"inputs", std::stoll(count)},
                                 {"psnr", jitter + pretended.psnr(model, std::stoll(count))}});
      }
    return json;
  }

  /// Every step of the experiment as if it had run.
  Results results_of(const Experiment& experiment, const Pretended& pretended) {
    Results results;
    for (const Step& step : experiment.steps) {
      const std::string folder = folder_ / step.id;
      std::filesystem::create_directories(folder);
      results.add(step.id, {folder, "lact " + join(step.words), 1, "a machine"});
      Json json = Json::object();
      if (step.words[0] == "info") {
        const double wide = std::stod("0" + word_after_set(step.words, "hidden_multiple="));
        json = {{"parameters", 1000},
                {"state", 1000 * wide},
                {"model_dim", 48},
                {"num_layers", 4},
                {"state_per_block_d2", 3 * wide}};
      } else if (step.words[1] == "train") {
        train(step, pretended);
      } else if (step.words[1] == "eval") {
        json = evaluate(step, pretended);
      } else if (step.words[1] == "splat") {
        json = {{"psnr", pretended.splats + 0.01 * double(step.id.back() - '0')}};
      }
      write_file(folder + "/stdout.txt", json.dump());
    }
    return results;
  }

  static std::string word_after_set(const Words& words, const std::string& name) {
    for (const auto& word : words)
      if (const size_t at = word.find(name); at != std::string::npos) return word.substr(at + name.size());
    return "";
  }

  Section section_of(const std::string& id, const Pretended& pretended, Budget budget = Budget::two_hours) {
    const Experiment one = experiment(id, budget);
    return one.section(results_of(one, pretended));
  }

  TemporaryFolder folder_;
};

const Finding& finding(const Section& section, const std::string& text) {
  for (const Finding& one : section.findings)
    if (one.statement.find(text) != std::string::npos) return one;
  throw std::runtime_error("no finding about " + text);
}

TEST_F(ReproducedViews, StepsOfTheSameIdAreAlikeInAllFigures) {
  for (const Budget budget : {Budget::smoke, Budget::two_hours, Budget::overnight}) {
    std::map<std::string, Words> known;
    for (const Experiment& one : views_experiments({budget, 3}))
      for (const Step& step : one.steps) {
        const auto [place, is_new] = known.emplace(step.id, step.words);
        EXPECT_EQ(place->second, step.words) << step.id;
        EXPECT_FALSE(step.label.empty());
      }
  }
}

TEST_F(ReproducedViews, EveryFigureHasNumbersInSmoke) {
  for (const Experiment& one : views_experiments({Budget::smoke, 1})) {
    const Section section = section_of(one.id, {}, Budget::smoke);
    EXPECT_FALSE(section.claim.empty()) << one.id;
    ASSERT_FALSE(section.findings.empty()) << one.id;
    EXPECT_EQ(section.findings[0].verdict, Verdict::inconclusive) << one.id;  // of one seed
    ASSERT_FALSE(section.charts.empty()) << one.id;
    for (const Chart& chart : section.charts)
      for (const Line& line : chart.lines) EXPECT_FALSE(line.y.empty()) << one.id << " " << line.name;
    for (const Table& table : section.tables)
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.header.size()) << one.id;
  }
}

TEST_F(ReproducedViews, EveryContenderTakesItsOwnBestRate) {
  const Experiment one = experiment("fig7b_views");
  Pretended pretended;
  pretended.sweep = [](const std::string& model, const std::string& rate) {
    const double best = model == "lact_gd" ? 0.003 : 0.006;
    return 20 - std::abs(std::stod(rate) - best);
  };
  const Results results = results_of(one, pretended);
  std::map<std::string, std::string> rates;
  for (const Step& step : one.steps)
    if (step.choose) rates[step.id] = word_after(step.choose(results), "--rate");
  EXPECT_EQ(rates.at("views_lact_gd_1"), "0.003");
  EXPECT_EQ(rates.at("views_lact_x2_1"), "0.006");
  const Section section = one.section(results);
  const auto taken = section.tables[1];
  EXPECT_EQ(taken.rows[0].back(), "0.006");
  EXPECT_EQ(taken.rows[2].back(), "0.003");
  EXPECT_EQ(section.findings.size(), 2U);
}

TEST_F(ReproducedViews, TheSameTimeDecidesAndNotTheSameSteps) {
  Pretended pretended;
  pretended.psnr = [](const std::string& model, int64_t) { return model == "lact_x2" ? 21.0 : 20.0; };
  EXPECT_EQ(finding(section_of("fig1d", pretended), "full attention").verdict, Verdict::holds);
  // Half as fast: when full attention has 20 dB, LaCT is half done, at 16 dB.
  pretended.tokens_per_second = {{"lact_x2", 50}};
  const Section section = section_of("fig1d", pretended);
  EXPECT_EQ(finding(section, "full attention").verdict, Verdict::does_not_hold);
  EXPECT_EQ(section.verdict(), Verdict::does_not_hold);
  ASSERT_EQ(section.charts[0].lines.size(), 3U);
  EXPECT_NEAR(section.charts[0].lines[0].x.back(), 2 * section.charts[0].lines[1].x.back(), 1e-9);
  EXPECT_NEAR(section.charts[0].lines[0].y.back(), 21.02, 1e-9);
  EXPECT_THAT(section.tables[0].rows[0].back(), HasSubstr("16.0"));
}

TEST_F(ReproducedViews, ModelsAndSplatsStandInOneChart) {
  Pretended pretended;
  pretended.psnr = [](const std::string& model, int64_t views) {
    const double best = model == "perceiver" ? 18 : model == "full" ? 20.2 : model == "long_lrm" ? 22 : 20;
    return best + 0.1 * double(views);
  };
  const Section section = section_of("fig4", pretended);
  EXPECT_EQ(finding(section, "as good as full attention").verdict, Verdict::holds);
  EXPECT_EQ(finding(section, "Perceiver").verdict, Verdict::holds);
  EXPECT_EQ(finding(section, "Long-LRM").verdict, Verdict::does_not_hold);
  EXPECT_EQ(finding(section, "more views").verdict, Verdict::holds);
  EXPECT_EQ(finding(section, "Gaussian splatting").verdict, Verdict::holds);
  const Line& splats = section.charts[1].lines.back();
  EXPECT_EQ(splats.name, "Gaussian splatting");
  EXPECT_EQ(splats.x, (std::vector<double>{2, 4, 8, 16, 32}));
  EXPECT_NEAR(splats.y[0], 10.02, 1e-9);
  EXPECT_EQ(splats.low.size(), 5U);
  EXPECT_TRUE(section.pictures.empty());  // no test has left any
}

TEST_F(ReproducedViews, SizesOfTheStateAreSetInOrder) {
  Pretended pretended;
  pretended.psnr = [](const std::string& model, int64_t) { return 20 + std::stod(model.substr(6)); };
  const Section rising = section_of("fig7a_views", pretended);
  EXPECT_EQ(rising.verdict(), Verdict::holds);
  EXPECT_EQ(rising.charts[0].lines[0].x, (std::vector<double>{250, 500, 1000, 2000, 4000}));
  pretended.psnr = [](const std::string& model, int64_t) { return 20 - std::stod(model.substr(6)); };
  EXPECT_EQ(section_of("fig7a_views", pretended).verdict(), Verdict::does_not_hold);
}

TEST_F(ReproducedViews, LinearMemoriesAreComparedWithBoth) {
  Pretended pretended;
  pretended.psnr = [](const std::string& model, int64_t) {
    return model == "lact_linear" ? 19.0 : model == "mamba2" ? 18.0 : 20.0;
  };
  EXPECT_EQ(section_of("fig8a_views", pretended).verdict(), Verdict::holds);
  EXPECT_EQ(section_of("fig8b_views", pretended).verdict(), Verdict::holds);
}

TEST_F(ReproducedViews, AResultWithoutNumbersIsASentence) {
  const Experiment one = experiment("fig8a_views");
  const Results results = results_of(one, {});
  write_file(folder_ / "views_test_networks_1/stdout.txt", R"({"means": []})");
  EXPECT_THAT(sentence_of<Error>([&] { one.section(results); }),
              HasSubstr("views_test_networks_1: its result says nothing about lact_"));
}

}  // namespace
}  // namespace lact::reproduce
