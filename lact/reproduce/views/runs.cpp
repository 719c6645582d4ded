#include "lact/reproduce/views/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "lact/base/error.h"

namespace lact::reproduce::views {

namespace {

/// Validation scenes are those of one seed in all runs.
constexpr const char* kValidSeed = "1000";
constexpr int64_t kTestTargets = 8;
/// Of one core, for the time left: a step of the LaCT model of the longer budgets takes about so long.
constexpr double kSecondsPerStep = 0.12, kSecondsToStart = 1;

std::string sweep_id(const Contender& contender, const std::string& rate) {
  return fmt::format("views_rate_{}_{}", contender.id, rate);
}

Words training_words(const Setting& setting, const Contender& contender, const std::string& rate,
                     int64_t seed, int64_t steps) {
  const int64_t every = std::max<int64_t>(1, steps / setting.validations);
  Words words = {"nvs", "train"};
  const Words model = model_words(contender);
  words.insert(words.end(), model.begin(), model.end());
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  add("--size", std::to_string(setting.size));
  add("--inputs", std::to_string(setting.inputs));
  add("--targets", std::to_string(setting.targets));
  add("--batch", std::to_string(setting.batch));
  add("--steps", std::to_string(steps));
  add("--optimizer", "muon");
  add("--rate", rate);
  add("--warmup", std::to_string(setting.warmup));
  add("--seed", std::to_string(seed));
  add("--valid-seed", kValidSeed);
  add("--valid-scenes", std::to_string(setting.valid_scenes));
  add("--validate-every", std::to_string(every));
  add("--save-every", std::to_string(steps));
  add("-o", "@out");
  return words;
}

double expected_seconds(const Setting& setting, int64_t steps) {
  const bool long_enough = setting.validations > 1;
  return kSecondsToStart + (long_enough ? kSecondsPerStep * double(steps) : 0);
}

Step sweep_step(const Setting& setting, const Contender& contender, const std::string& rate) {
  Step step = {sweep_id(contender, rate), fmt::format("{}, rate {}", contender.label, rate),
               training_words(setting, contender, rate, 1, setting.sweep_steps)};
  step.work = expected_seconds(setting, setting.sweep_steps);
  return step;
}

Step training_step(const Setting& setting, const Contender& contender, int64_t seed) {
  Step step = {training_id(contender, seed), fmt::format("{}, seed {}", contender.label, seed),
               training_words(setting, contender, setting.rates.front(), seed, setting.steps)};
  step.work = expected_seconds(setting, setting.steps);
  if (setting.rates.size() < 2) return step;
  for (const std::string& rate : setting.rates) step.needs.push_back(sweep_id(contender, rate));
  step.choose = [=](const Results& results) {
    return training_words(setting, contender, best_rate(setting, contender, results), seed, setting.steps);
  };
  return step;
}

Step test_step(const Comparison& comparison, int64_t seed) {
  const Setting& setting = comparison.setting;
  Words words = {"nvs", "eval"};
  for (const Contender& contender : comparison.contenders)
    words.insert(words.end(), {"--model", fmt::format("{}=@{}", contender.id, training_id(contender, seed))});
  words.insert(words.end(),
               {"--scenes", std::to_string(setting.test_scenes), "--size", std::to_string(setting.size),
                "--targets", std::to_string(kTestTargets), "--counts",
                fmt::format("{}", fmt::join(comparison.counts, ",")), "--json", "-o", "@out"});
  Step step = {test_id(comparison, seed), fmt::format("test of {}, seed {}", comparison.name, seed), words};
  step.work = kSecondsToStart + 0.2 * double(setting.test_scenes);
  return step;
}

}  // namespace

std::string training_id(const Contender& contender, int64_t seed) {
  return fmt::format("views_{}_{}", contender.id, seed);
}

std::string info_id(const Contender& contender) { return "views_info_" + contender.id; }

std::string test_id(const Comparison& comparison, int64_t seed) {
  return fmt::format("views_test_{}_{}", comparison.name, seed);
}

std::vector<Step> steps_of(const Comparison& comparison) {
  const Setting& setting = comparison.setting;
  std::vector<Step> steps;
  for (const Contender& contender : comparison.contenders) {
    Words words = model_words(contender);
    words.erase(words.begin());  // --config
    words.insert(words.begin(), "info");
    words.insert(words.end(), {"--views", std::to_string(setting.inputs), "--image-size",
                               std::to_string(setting.size), "--json"});
    steps.push_back({info_id(contender), contender.label + ", parameters", words});
    if (setting.rates.size() > 1)
      for (const std::string& rate : setting.rates) steps.push_back(sweep_step(setting, contender, rate));
    for (int64_t seed = 1; seed <= setting.seeds; ++seed)
      steps.push_back(training_step(setting, contender, seed));
  }
  for (int64_t seed = 1; seed <= setting.seeds; ++seed) steps.push_back(test_step(comparison, seed));
  return steps;
}

std::string best_rate(const Setting& setting, const Contender& contender, const Results& results) {
  if (setting.rates.size() == 1) return setting.rates.front();
  return *std::max_element(setting.rates.begin(), setting.rates.end(),
                           [&](const std::string& one, const std::string& other) {
                             return results.last(sweep_id(contender, one), "valid_psnr") <
                                    results.last(sweep_id(contender, other), "valid_psnr");
                           });
}

Table rate_table(const Comparison& comparison, const Results& results) {
  const Setting& setting = comparison.setting;
  Table table = {fmt::format("Highest learning rate: PSNR in dB after {} steps", setting.sweep_steps),
                 {"contender"},
                 {}};
  for (const std::string& rate : setting.rates) table.header.push_back(rate);
  table.header.emplace_back("taken");
  for (const Contender& contender : comparison.contenders) {
    std::vector<std::string> row = {contender.label};
    for (const std::string& rate : setting.rates)
      row.push_back(setting.rates.size() == 1
                        ? "-"
                        : fmt::format("{:.2f}", results.last(sweep_id(contender, rate), "valid_psnr")));
    row.push_back(best_rate(setting, contender, results));
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace lact::reproduce::views
