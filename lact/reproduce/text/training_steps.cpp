#include "lact/reproduce/text/trainings.h"

namespace lact::reproduce::text {

namespace {

/// Seconds of one core per step of 3072 tokens of LaCT with Muon; sets the time left, nothing else.
constexpr double kSecondsPerStep = 0.03;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

std::string Trainings::sweep_id(const Contender& one, const std::string& rate) const {
  return id(one, "rate" + rate);
}

std::string Trainings::train_id(const Contender& one, int64_t seed) const {
  return id(one, "seed" + std::to_string(seed));
}

Words Trainings::train_words(const Contender& one, const std::string& rate, int64_t seed,
                             int64_t steps) const {
  const std::string count = std::to_string(steps);
  return Words{"lm", "train", "--config", "lm_recall", "--tokenizer", "@text_words/words.model"} +
         setting_.text() + setting_.model() + one.change +
         Words{"--batch",
               std::to_string(setting_.batch),
               "--length",
               std::to_string(setting_.length),
               "--valid-sequences",
               std::to_string(setting_.documents),
               "--steps",
               count,
               "--optimizer",
               "muon",
               "--rate",
               rate,
               "--rate-floor",
               "0.05",
               "--warmup",
               std::to_string(std::min<int64_t>(50, steps / 2)),
               "--weight-decay",
               "0",
               "--validate-every",
               std::to_string(std::max<int64_t>(1, steps / 10)),
               "--save-every",
               count,
               "--keep",
               "1",
               "--seed",
               std::to_string(seed),
               "-o",
               "@out"};
}

std::string Trainings::best_rate(const Results& results, const Contender& one) const {
  if (setting_.rates.size() == 1) return setting_.rates.front();
  std::string best;
  double least = 0;
  for (const auto& rate : setting_.rates) {
    const double loss = results.last(sweep_id(one, rate), "valid_loss");
    if (best.empty() || loss < least) best = rate, least = loss;
  }
  return best;
}

void Trainings::add_trainings(const Contender& one, std::vector<Step>& steps) const {
  const double work = kSecondsPerStep * one.slowness;
  std::vector<std::string> sweep;
  if (setting_.rates.size() > 1) {
    for (const auto& rate : setting_.rates) {
      sweep.push_back(sweep_id(one, rate));
      steps.push_back(
          {sweep.back(), one.name + ", rate " + rate, train_words(one, rate, 1, setting_.sweep_steps)});
      steps.back().work = work * double(setting_.sweep_steps);
    }
  }
  for (int64_t seed = 1; seed <= setting_.seeds; ++seed) {
    Step step = {train_id(one, seed), one.name + ", seed " + std::to_string(seed),
                 train_words(one, setting_.rates.front(), seed, setting_.steps)};
    step.work = work * double(setting_.steps);
    if (!sweep.empty()) {
      step.needs = sweep;
      step.choose = [self = *this, one, seed](const Results& results) {
        return self.train_words(one, self.best_rate(results, one), seed, self.setting_.steps);
      };
    }
    steps.push_back(std::move(step));
  }
}

void Trainings::add_measurements(const Contender& one, bool with_recall, std::vector<Step>& steps) const {
  Words models;
  for (int64_t seed = 1; seed <= setting_.seeds; ++seed) {
    models.push_back("-m");
    models.push_back("seed" + std::to_string(seed) + "=@" + train_id(one, seed));
  }
  const std::string length = std::to_string(setting_.valid_length);
  steps.push_back({id(one, "loss"), one.name + ", loss against position",
                   Words{"lm", "eval"} + models +
                       Words{"--data", "@text_words/valid.jsonl", "--length", length, "--sequences",
                             std::to_string(setting_.documents), "--json"}});
  if (with_recall) {
    steps.push_back({id(one, "recall"), one.name + ", recall against distance",
                     Words{"lm", "eval", "--task", "recall"} + models + setting_.text() +
                         Words{"--document-length", length, "--documents", std::to_string(setting_.documents),
                               "--json"}});
  }
  steps.push_back({id(one, "info"), one.name + ", parameters and state",
                   Words{"info", "@" + train_id(one, 1), "--json"}});
}

std::vector<Step> Trainings::steps(bool with_recall) const {
  std::vector<Step> steps = {
      {"text_words", "the text and its tokenizer",
       Words{"lm", "text", "recall", "-o", "@out/valid.jsonl", "--tokenizer", "@out/words.model"} +
           setting_.text() +
           Words{"--documents", std::to_string(setting_.documents), "--words",
                 std::to_string(setting_.valid_length), "--seed", "1000"}}};
  for (const auto& one : all_) {
    add_trainings(one, steps);
    add_measurements(one, with_recall, steps);
  }
  return steps;
}

}  // namespace lact::reproduce::text
