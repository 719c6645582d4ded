// Figure 6c: the models of figure 6a on clips twice as long, after a short training on such clips.
#include <fmt/format.h>

#include "lact/reproduce/video/figures.h"
#include "lact/reproduce/video/trainings.h"

namespace lact::reproduce::video {

namespace {

std::string longer_evaluation_id(int64_t seed) { return fmt::format("video-longer-{}", seed); }

/// As the evaluation names a model that has seen no longer clips.
std::string as_it_was(const Contender& contender) { return contender.name + ", as it was"; }

Readings longer_readings(const Plan& plan, const Results& results, const std::string& name) {
  Readings readings;
  for (int64_t seed = 1; seed <= plan.seeds; ++seed)
    readings.push_back(reading(results.json(longer_evaluation_id(seed)), name));
  return readings;
}

Section longer_section(const Plan& plan, const Results& results) {
  Section section;
  section.claim = "LaCT stays ahead of the window alone on longer videos, after a short training on these.";
  section.paper = {
      "Curves without printed numbers: LaCT below the window alone on longer videos. The models of 5 seconds "
      "were trained on clips of 10 for a fifth of their iterations."};
  const std::string beyond = fmt::format("chunks {} to {}", kTrainedChunks + 1, kLongerChunks);
  Chart chart{.title = "Denoising loss against the chunk",
              .x_label = "chunk",
              .y_label = "squared error of the velocity",
              .lines = {}};
  Table table{.title = fmt::format("Loss of {}, beyond the first training, and squared error of what comes "
                                   "back in the whole clip",
                                   beyond),
              .header = {"model", "loss", "coming back", "as it was: loss", "coming back"},
              .rows = {}};
  std::vector<Sample> losses, returning;
  std::vector<std::string> trainings;
  std::vector<Reading> all;
  for (const Contender& contender : contenders()) {
    const Readings readings = longer_readings(plan, results, contender.name),
                   before = longer_readings(plan, results, as_it_was(contender));
    for (int64_t seed = 1; seed <= plan.seeds; ++seed)
      trainings.push_back(longer_training(plan, contender, seed).id);
    chart.lines.push_back(loss_line(contender.name, readings));
    losses.push_back(loss_from(contender.name, readings, kTrainedChunks + 1));
    returning.push_back(returning_error(contender.name, readings));
    table.rows.push_back({contender.name, with_spread(losses.back()), with_spread(returning.back()),
                          with_spread(loss_from(contender.name, before, kTrainedChunks + 1)),
                          with_spread(returning_error(contender.name, before))});
    all.insert(all.end(), readings.begin(), readings.end());
  }
  section.charts = {chart};
  section.tables = {table};
  section.findings = {beats(fmt::format("LaCT has a lower loss than the window alone in {}", beyond),
                            losses[0], losses[1], Direction::lower),
                      beats("Where things come back in longer clips, LaCT's error is lower than that of the "
                            "window alone",
                            returning[0], returning[1], Direction::lower)};
  section.notes = {
      equal_terms(results, trainings, all),
      fmt::format("The models of figure 6a, which saw clips of {0} chunks, trained on for a fifth of their "
                  "steps with clips of {1}, all at the lowest rate of the grid. The last columns have the "
                  "models without that: a memory that was never written more than {0} times.",
                  kTrainedChunks, kLongerChunks)};
  return section;
}

}  // namespace

Experiment longer_clips(const Plan& plan) {
  Experiment experiment = contenders_by_chunk(plan);  // its models
  experiment.id = "fig6c";
  experiment.title = "Figure 6c: longer clips";
  experiment.section = [plan](const Results& results) { return longer_section(plan, results); };
  for (int64_t seed = 1; seed <= plan.seeds; ++seed) {
    std::vector<std::string> models;
    for (const Contender& contender : contenders()) {
      experiment.steps.push_back(longer_training(plan, contender, seed));
      models.push_back(fmt::format("{}=@{}", contender.name, experiment.steps.back().id));
      models.push_back(
          fmt::format("{}=@{}", as_it_was(contender), training_id(contender, sights().back(), seed)));
    }
    experiment.steps.push_back({.id = longer_evaluation_id(seed),
                                .label = fmt::format("figure 6c, evaluation, seed {}", seed),
                                .words = evaluation(plan, models, kLongerChunks),
                                .work = plan.smoke() ? 2.0 : 35.0});
  }
  return experiment;
}

}  // namespace lact::reproduce::video
