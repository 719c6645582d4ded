// Figure 6c: the models of figure 6a on clips longer than those they were trained on.
#include <fmt/format.h>

#include "lact/reproduce/video/figures.h"
#include "lact/reproduce/video/trainings.h"

namespace lact::reproduce::video {

namespace {

std::string longer_evaluation_id(int64_t seed) { return fmt::format("video-longer-{}", seed); }

Section longer_section(const Plan& plan, const Results& results) {
  Section section;
  section.claim = "LaCT stays ahead of the window alone on videos longer than those of the training.";
  section.paper = {"Curves without printed numbers: LaCT below the window alone on longer videos."};
  const std::string beyond = fmt::format("chunks {} to {}", kTrainedChunks + 1, kLongerChunks);
  Chart chart{.title = fmt::format("Denoising loss against the chunk; trained on {} chunks", kTrainedChunks),
              .x_label = "chunk",
              .y_label = "squared error of the velocity",
              .lines = {}};
  Table table{.title = fmt::format("Loss of {}, beyond the training, and squared error of what comes back in "
                                   "the whole clip",
                                   beyond),
              .header = {"model", "loss", "coming back"},
              .rows = {}};
  std::vector<Sample> losses, returning;
  std::vector<std::string> trainings;
  std::vector<Reading> all;
  for (const Contender& contender : contenders()) {
    Readings readings;
    for (int64_t seed = 1; seed <= plan.seeds; ++seed) {
      readings.push_back(reading(results.json(longer_evaluation_id(seed)), contender.name));
      trainings.push_back(training_id(contender, sights().back(), seed));
    }
    chart.lines.push_back(loss_line(contender.name, readings));
    losses.push_back(loss_from(contender.name, readings, kTrainedChunks + 1));
    returning.push_back(returning_error(contender.name, readings));
    table.rows.push_back({contender.name, with_spread(losses.back()), with_spread(returning.back())});
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
      fmt::format("The models of figure 6a, which saw clips of {} chunks, on held-out clips of {}: "
                  "what happens in a clip is as in training, several times.",
                  kTrainedChunks, kLongerChunks)};
  return section;
}

}  // namespace

Experiment longer_clips(const Plan& plan) {
  Experiment experiment = contenders_by_chunk(plan);  // its models
  experiment.id = "fig6c";
  experiment.title = "Figure 6c: clips longer than in training";
  experiment.section = [plan](const Results& results) { return longer_section(plan, results); };
  for (int64_t seed = 1; seed <= plan.seeds; ++seed) {
    std::vector<std::string> models;
    for (const Contender& contender : contenders())
      models.push_back(fmt::format("{}=@{}", contender.name, training_id(contender, sights().back(), seed)));
    experiment.steps.push_back({.id = longer_evaluation_id(seed),
                                .label = fmt::format("figure 6c, evaluation, seed {}", seed),
                                .words = evaluation(plan, models, kLongerChunks),
                                .work = plan.smoke() ? 2.0 : 35.0});
  }
  return experiment;
}

}  // namespace lact::reproduce::video
