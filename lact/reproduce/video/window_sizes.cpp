// Figure 6b: LaCT and the window alone with windows of several sizes.
#include <fmt/format.h>

#include "lact/reproduce/video/figures.h"
#include "lact/reproduce/video/trainings.h"

namespace lact::reproduce::video {

namespace {

std::string windows_evaluation_id(int64_t seed) { return fmt::format("video-windows-{}", seed); }

/// "LaCT 8", as the evaluation names it.
std::string model_name(const Contender& contender, const Sight& sight) {
  return fmt::format("{} {}", contender.name, sight.visible);
}

/// LaCT, and the window alone.
std::vector<Contender> compared() { return {contenders()[0], contenders()[1]}; }

/// Those with all of the chunk before are read from the evaluation of figure 6a: the clips are the same.
Readings windows_readings(const Plan& plan, const Results& results, const Contender& contender,
                          const Sight& sight) {
  Readings readings;
  for (int64_t seed = 1; seed <= plan.seeds; ++seed)
    readings.push_back(
        sight.visible < 0 ? reading(results.json(contenders_evaluation(plan, seed).id), contender.name)
                          : reading(results.json(windows_evaluation_id(seed)), model_name(contender, sight)));
  return readings;
}

Section windows_section(const Plan& plan, const Results& results) {
  Section section;
  section.claim =
      "LaCT improves on the window alone whatever the size of the window, and by more than a larger window "
      "does.";
  section.paper = {
      "Curves without printed numbers: windows of four and of six latent frames, chunks of three. The larger "
      "window improves the loss, but less than LaCT does."};
  Chart chart{.title = "Denoising loss against the chunk",
              .x_label = "chunk",
              .y_label = "squared error of the velocity",
              .lines = {}};
  Table table{.title = fmt::format("Loss of chunks {} to {}, and squared error of what comes back",
                                   kFirstReturn, kTrainedChunks),
              .header = {"model", "sees", "loss", "coming back"},
              .rows = {}};
  std::vector<std::string> trainings;
  std::vector<Reading> all;
  std::vector<std::vector<Sample>> losses;  // of each size: LaCT, window alone
  for (const Sight& sight : sights()) {
    auto& of_size = losses.emplace_back();
    for (const Contender& contender : compared()) {
      const std::string name = fmt::format("{}, {}", contender.name, sight.name);
      const Readings readings = windows_readings(plan, results, contender, sight);
      chart.lines.push_back(loss_line(name, readings));
      chart.lines.back().dashed = contender.key == "window";
      of_size.push_back(loss_from(name, readings, kFirstReturn));
      table.rows.push_back({contender.name, sight.name, with_spread(of_size.back()),
                            with_spread(returning_error(name, readings))});
      all.insert(all.end(), readings.begin(), readings.end());
      for (int64_t seed = 1; seed <= plan.seeds; ++seed)
        trainings.push_back(training_id(contender, sight, seed));
    }
    section.findings.push_back(beats(fmt::format("LaCT beats the window alone where a chunk sees {} (loss of "
                                                 "chunks {} to {})",
                                                 sight.name, kFirstReturn, kTrainedChunks),
                                     of_size[0], of_size[1], Direction::lower));
  }
  const size_t half = losses.size() - 2, whole = losses.size() - 1;
  section.findings.push_back(
      beats("LaCT gains more than a larger window: with half of the chunk before it beats the window alone "
            "with all of it",
            losses[half][0], losses[whole][1], Direction::lower));
  section.charts = {chart};
  section.tables = {table};
  section.notes = {equal_terms(results, trainings, all),
                   "A noisy chunk always sees itself, and nothing, half or all of the clean chunk before it. "
                   "The learning rates are those that figure 6a found with all of it.",
                   "The figures of models that see all of the chunk before are those of figure 6a."};
  return section;
}

}  // namespace

Experiment window_sizes(const Plan& plan) {
  Experiment experiment{.id = "fig6b",
                        .title = "Figure 6b: sizes of the window",
                        .steps = rate_sweep(plan),
                        .section = [plan](const Results& results) { return windows_section(plan, results); }};
  for (int64_t seed = 1; seed <= plan.seeds; ++seed) {
    std::vector<std::string> models;
    for (const Sight& sight : sights())
      for (const Contender& contender : compared()) {
        if (sight.visible < 0) continue;
        experiment.steps.push_back(training(plan, contender, sight, seed));
        models.push_back(
            fmt::format("{}=@{}", model_name(contender, sight), training_id(contender, sight, seed)));
      }
    for (const Contender& contender : contenders())
      experiment.steps.push_back(training(plan, contender, sights().back(), seed));
    experiment.steps.push_back(contenders_evaluation(plan, seed));
    experiment.steps.push_back({.id = windows_evaluation_id(seed),
                                .label = fmt::format("figure 6b, evaluation, seed {}", seed),
                                .words = evaluation(plan, models, kTrainedChunks),
                                .work = plan.smoke() ? 2.0 : 15.0});
  }
  return experiment;
}

}  // namespace lact::reproduce::video
