#include "lact/reproduce/video/trainings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/format.h"

namespace lact::reproduce::video {

namespace {

using options::Json;

int64_t steps_of(const Plan& plan) { return plan.by_budget({2, 1000, 4000, 6000}); }
int64_t sweep_steps(const Plan& plan) { return steps_of(plan) * 2 / 5; }

constexpr int64_t kClips = 16;  // of a batch

/// Measured, for the time left: seconds of a step.
constexpr double kStepSeconds = 0.1;

std::vector<std::string> rate_grid(const Plan& plan) {
  return plan.smoke() ? std::vector<std::string>{"0.012"}
                      : std::vector<std::string>{"0.006", "0.012", "0.024"};
}

Words clip_words() {
  return {"--gap-min", "2", "--gap-max", "2", "--things", "1", "--pans", "0", "--pillars", "0"};
}

/// What all trainings share; `model` says what they begin with.
Words train_words(const Plan& plan, const Words& model, const std::string& rate, int64_t seed, int64_t steps,
                  int64_t chunks, int64_t clips) {
  const Words others = {"--chunks",
                        std::to_string(chunks),
                        "--batch",
                        std::to_string(plan.smoke() ? 2 : clips),
                        "--steps",
                        std::to_string(steps),
                        "--rate",
                        rate,
                        "--warmup",
                        std::to_string(std::min<int64_t>(50, steps / 2)),
                        "--optimizer",
                        "muon",
                        "--shift",
                        "3",
                        "--ema",
                        "0.98",
                        "--seed",
                        std::to_string(seed),
                        "--valid-clips",
                        plan.smoke() ? "2" : "64",
                        "--validate-every",
                        std::to_string(steps),
                        "--save-every",
                        std::to_string(steps),
                        "-o",
                        "@out"};
  Words words = {"video", "train"};
  for (const Words& part : {model, clip_words(), others}) words.insert(words.end(), part.begin(), part.end());
  return words;
}

Words train_words(const Plan& plan, const Contender& contender, const Sight& sight, const std::string& rate,
                  int64_t seed, int64_t steps) {
  Words model = {"--config", "video_recall"};
  for (const std::string& set : contender.sets) model.insert(model.end(), {"--set", set});
  if (sight.visible >= 0)
    model.insert(model.end(), {"--set", fmt::format("visible_clean={}", sight.visible)});
  return train_words(plan, model, rate, seed, steps, kTrainedChunks, kClips);
}

std::string sweep_id(const Contender& contender, const std::string& rate) {
  return fmt::format("video-rate-{}-{}", contender.key, rate);
}

double sweep_loss(const Results& results, const Contender& contender, const std::string& rate) {
  return results.last(sweep_id(contender, rate), "valid_loss");
}

std::string best_rate(const Plan& plan, const Results& results, const Contender& contender) {
  const auto grid = rate_grid(plan);
  return *std::min_element(grid.begin(), grid.end(), [&](const std::string& one, const std::string& other) {
    return sweep_loss(results, contender, one) < sweep_loss(results, contender, other);
  });
}

double number_at(const Json& json, const char* field, const std::string& name) {
  LACT_CHECK(json.contains(field) && json[field].is_number(),
             "[reproduce] the evaluation of {} has no number {}", name, field);
  return json[field].get<double>();
}

Sample sampled(const std::string& name, const Readings& readings, const auto& value) {
  Sample sample{name, {}};
  for (const Reading& one : readings) sample.values.push_back(value(one));
  return sample;
}

}  // namespace

const std::vector<Contender>& contenders() {
  static const std::vector<Contender> all = {
      {"lact", "LaCT", {}},
      {"window", "window alone", {"mixer=window", "feed_forward.hidden_dim=356"}},
      {"mamba2", "Mamba-2 and window", {"mixer=mamba2", "feed_forward.hidden_dim=352"}},
      {"full", "full attention", {"mixer=full", "feed_forward.hidden_dim=356"}}};
  return all;
}

const std::vector<Sight>& sights() {
  static const std::vector<Sight> all = {
      {0, "nothing of the chunk before"}, {8, "half of the chunk before"}, {-1, "all of the chunk before"}};
  return all;
}

std::vector<Step> rate_sweep(const Plan& plan) {
  std::vector<Step> steps;
  if (rate_grid(plan).size() < 2) return steps;
  for (const Contender& contender : contenders())
    for (const std::string& rate : rate_grid(plan))
      steps.push_back({.id = sweep_id(contender, rate),
                       .label = fmt::format("{}, rate {}", contender.name, rate),
                       .words = train_words(plan, contender, sights().back(), rate, 1, sweep_steps(plan)),
                       .work = kStepSeconds * double(sweep_steps(plan))});
  return steps;
}

std::string training_id(const Contender& contender, const Sight& sight, int64_t seed) {
  const std::string seen = sight.visible >= 0 ? fmt::format("-sees{}", sight.visible) : "";
  return fmt::format("video-{}{}-{}", contender.key, seen, seed);
}

Step training(const Plan& plan, const Contender& contender, const Sight& sight, int64_t seed) {
  Step step{.id = training_id(contender, sight, seed),
            .label = fmt::format("{}, sees {}, seed {}", contender.name, sight.name, seed),
            .words = {},
            .work = kStepSeconds * double(steps_of(plan))};
  const auto words = [plan, contender, sight, seed](const std::string& rate) {
    return train_words(plan, contender, sight, rate, seed, steps_of(plan));
  };
  const auto grid = rate_grid(plan);
  if (grid.size() < 2) {
    step.words = words(grid.front());
    return step;
  }
  for (const std::string& rate : grid) step.needs.push_back(sweep_id(contender, rate));
  step.choose = [plan, contender, words](const Results& results) {
    return words(best_rate(plan, results, contender));
  };
  return step;
}

Step longer_training(const Plan& plan, const Contender& contender, int64_t seed) {
  const int64_t steps = std::max<int64_t>(2, steps_of(plan) / 5);
  const Words model = {"--init", "@" + training_id(contender, sights().back(), seed)};
  return {.id = fmt::format("video-{}-longer-{}", contender.key, seed),
          .label = fmt::format("{}, longer clips, seed {}", contender.name, seed),
          .words = train_words(plan, model, rate_grid(plan).front(), seed, steps, kLongerChunks, kClips / 2),
          .work = kStepSeconds * double(steps)};
}

Words evaluation(const Plan& plan, const std::vector<std::string>& models, int64_t chunks) {
  Words words = {"video", "eval", "--json"};
  for (const std::string& model : models) words.insert(words.end(), {"--model", model});
  const Words clips = clip_words();
  words.insert(words.end(), clips.begin(), clips.end());
  words.insert(words.end(), {"--chunks", std::to_string(chunks), "--count", plan.smoke() ? "8" : "256",
                             "--batch", plan.smoke() ? "8" : "16"});
  return words;
}

Table rate_table(const Plan& plan, const Results& results) {
  Table table{.title = "Learning rates: loss on held-out clips after two fifths of the steps, seed 1",
              .header = {"model"},
              .rows = {}};
  const auto grid = rate_grid(plan);
  table.header.insert(table.header.end(), grid.begin(), grid.end());
  table.header.push_back("chosen");
  for (const Contender& contender : contenders()) {
    auto& row = table.rows.emplace_back(std::vector<std::string>{contender.name});
    for (const std::string& rate : grid)
      row.push_back(grid.size() < 2 ? "-" : fmt::format("{:.4f}", sweep_loss(results, contender, rate)));
    row.push_back(grid.size() < 2 ? grid.front() : best_rate(plan, results, contender));
  }
  return table;
}

double Reading::mean_from(int64_t chunk) const {
  LACT_CHECK(chunk >= 1 && chunk <= int64_t(by_chunk.size()),
             "[reproduce] the loss from chunk {} on is asked for, but the evaluation has {} chunks", chunk,
             by_chunk.size());
  double sum = 0;
  for (size_t i = size_t(chunk - 1); i < by_chunk.size(); ++i) sum += by_chunk[i];
  return sum / double(by_chunk.size() - size_t(chunk - 1));
}

Reading reading(const Json& evaluation, const std::string& name) {
  LACT_CHECK(evaluation.contains("models") && evaluation["models"].is_array(),
             "[reproduce] the evaluation of {} has no list of models", name);
  for (const Json& model : evaluation["models"]) {
    if (!model.contains("name") || model["name"] != name) continue;
    Reading found;
    found.parameters = number_at(model, "parameters", name);
    LACT_CHECK(model.contains("by_chunk") && model["by_chunk"].is_array(),
               "[reproduce] the evaluation of {} has no list by_chunk", name);
    options::read(model["by_chunk"], found.by_chunk, "by_chunk");
    LACT_CHECK(model.contains("reappearance"), "[reproduce] the evaluation of {} has no reappearance", name);
    found.returning = number_at(model["reappearance"], "returning", name);
    found.known = number_at(model["reappearance"], "known", name);
    found.elsewhere = number_at(model["reappearance"], "elsewhere", name);
    return found;
  }
  fail("[reproduce] the evaluation has no model {}", name);
}

Sample loss_from(const std::string& name, const Readings& readings, int64_t chunk) {
  return sampled(name, readings, [&](const Reading& one) { return one.mean_from(chunk); });
}

Sample returning_error(const std::string& name, const Readings& readings) {
  return sampled(name, readings, [](const Reading& one) { return one.returning; });
}

std::string with_spread(const Sample& sample) {
  return sample.values.size() < 2 ? fmt::format("{:.4f}", sample.mean())
                                  : fmt::format("{:.4f} ± {:.4f}", sample.mean(), sample.deviation());
}

Line loss_line(const std::string& name, const Readings& readings) {
  Line line;
  line.name = name;
  for (size_t chunk = 0; chunk < readings.front().by_chunk.size(); ++chunk) {
    const Sample losses = sampled(name, readings, [&](const Reading& one) { return one.by_chunk.at(chunk); });
    line.x.push_back(double(chunk + 1));
    line.y.push_back(losses.mean());
    if (readings.size() < 2) continue;
    line.low.push_back(losses.mean() - losses.deviation());
    line.high.push_back(losses.mean() + losses.deviation());
  }
  return line;
}

std::string equal_terms(const Results& results, const std::vector<std::string>& trainings,
                        const std::vector<Reading>& readings) {
  const auto by_parameters = [](const Reading& a, const Reading& b) { return a.parameters < b.parameters; };
  const auto [fewest, most] = std::minmax_element(readings.begin(), readings.end(), by_parameters);
  std::vector<double> tokens;
  for (const std::string& id : trainings) tokens.push_back(results.last(id, "tokens"));
  const auto [least, largest] = std::minmax_element(tokens.begin(), tokens.end());
  return fmt::format(
      "All models have {} to {} parameters ({:.1f} % apart) and were trained on {} to {} tokens each, noisy "
      "and clean ones.",
      format_count(fewest->parameters), format_count(most->parameters),
      100 * (most->parameters / fewest->parameters - 1), format_count(*least), format_count(*largest));
}

}  // namespace lact::reproduce::video
