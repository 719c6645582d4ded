// Figure 6a: denoising loss against the chunk's number, and the error where things come back.
#include <fmt/format.h>

#include "lact/reproduce/video/figures.h"
#include "lact/reproduce/video/trainings.h"

namespace lact::reproduce::video {

namespace {

std::string contenders_evaluation_id(int64_t seed) { return fmt::format("video-eval-{}", seed); }

Readings contender_readings(const Plan& plan, const Results& results, const Contender& contender) {
  Readings readings;
  for (int64_t seed = 1; seed <= plan.seeds; ++seed)
    readings.push_back(reading(results.json(contenders_evaluation_id(seed)), contender.name));
  return readings;
}

Sample every(const Readings& readings, double Reading::*field) {
  Sample sample;
  for (const Reading& one : readings) sample.values.push_back(one.*field);
  return sample;
}

Section contenders_section(const Plan& plan, const Results& results) {
  Section section;
  section.claim =
      "Beside a window of two chunks, LaCT comes near full attention, and beats the window alone and Mamba-2 "
      "with the window.";
  section.paper = {
      "Curves without printed numbers: models of 1.3B parameters, denoising loss of 2,000 videos at five "
      "noise levels after 5,000 steps."};
  Chart chart{.title = "Denoising loss against the chunk",
              .x_label = "chunk",
              .y_label = "squared error of the velocity",
              .lines = {}};
  Table table{.title = fmt::format("Loss of chunks {} to {}, in which things come back; squared error of "
                                   "pixels of what comes back, of what was in sight before, and of the rest",
                                   kFirstReturn, kTrainedChunks),
              .header = {"model", "parameters", "loss", "coming back", "known", "elsewhere"},
              .rows = {}};
  std::vector<std::string> trainings;
  std::vector<Reading> all;
  std::vector<Sample> losses, returning;
  for (const Contender& contender : contenders()) {
    const Readings readings = contender_readings(plan, results, contender);
    chart.lines.push_back(loss_line(contender.name, readings));
    losses.push_back(loss_from(contender.name, readings, kFirstReturn));
    returning.push_back(returning_error(contender.name, readings));
    table.rows.push_back({contender.name, fmt::format("{:.0f}", readings.front().parameters),
                          with_spread(losses.back()), with_spread(returning.back()),
                          with_spread(every(readings, &Reading::known)),
                          with_spread(every(readings, &Reading::elsewhere))});
    all.insert(all.end(), readings.begin(), readings.end());
    for (int64_t seed = 1; seed <= plan.seeds; ++seed)
      trainings.push_back(training_id(contender, sights().back(), seed));
  }
  section.charts = {chart};
  section.tables = {table, rate_table(plan, results)};

  const std::string where = fmt::format(" (loss of chunks {} to {})", kFirstReturn, kTrainedChunks);
  section.findings = {
      beats("LaCT has a lower loss than the window alone" + where, losses[0], losses[1], Direction::lower),
      beats("Where things come back, LaCT's error is lower than that of the window alone", returning[0],
            returning[1], Direction::lower),
      beats("LaCT has a lower loss than Mamba-2 with the window" + where, losses[0], losses[2],
            Direction::lower),
      comparable("LaCT's loss is comparable to that of full attention" + where, losses[0], losses[3],
                 Direction::lower, 0.05)};
  section.notes = {
      equal_terms(results, trainings, all),
      "The window is a noisy chunk itself and the whole clean chunk before it; clean chunks see themselves, "
      "so "
      "that nothing older than one chunk can reach a model without memory.",
      "Made-up clips of 16 x 16 pixels, one frame a chunk: a thing is away for two whole chunks and comes "
      "back looking as it did, and the caption does not tell its colours. The models learn from nothing, "
      "where "
      "the paper's begin with Wan 2.1."};
  section.pictures = {
      {results.at(contenders_evaluation_id(1)).folder + "/continued_01.png",
       "A held-out clip, and its continuation after three chunks by LaCT, window alone, Mamba-2 "
       "and window, full attention"}};
  return section;
}

}  // namespace

Step contenders_evaluation(const Plan& plan, int64_t seed) {
  std::vector<std::string> models;
  for (const Contender& contender : contenders())
    models.push_back(fmt::format("{}=@{}", contender.name, training_id(contender, sights().back(), seed)));
  Words words = evaluation(plan, models, kTrainedChunks);
  words.insert(words.end(), {"--continued", plan.smoke() ? "1" : "4", "--given", "3", "--steps",
                             plan.smoke() ? "2" : "20", "-o", "@out"});
  return {.id = contenders_evaluation_id(seed),
          .label = fmt::format("figure 6a, evaluation, seed {}", seed),
          .words = words,
          .work = plan.smoke() ? 2.0 : 20.0};
}

Experiment contenders_by_chunk(const Plan& plan) {
  Experiment experiment{
      .id = "fig6a",
      .title = "Figure 6a: video against window, Mamba-2 and full attention",
      .steps = rate_sweep(plan),
      .section = [plan](const Results& results) { return contenders_section(plan, results); }};
  for (int64_t seed = 1; seed <= plan.seeds; ++seed) {
    for (const Contender& contender : contenders())
      experiment.steps.push_back(training(plan, contender, sights().back(), seed));
    experiment.steps.push_back(contenders_evaluation(plan, seed));
  }
  return experiment;
}

}  // namespace lact::reproduce::video
