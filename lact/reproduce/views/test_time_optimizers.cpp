// Figure 7b, views: gradient descent, momentum and Muon.
#include <fmt/format.h>

#include "lact/reproduce/views/figures.h"
#include "lact/reproduce/views/runs.h"

namespace lact::reproduce::views {

namespace {

Section optimizer_section(const Comparison& comparison, const Results& results) {
  Section section;
  section.claim =
      "Fast weights that Muon updates give better views than those of gradient descent and momentum.";
  section.paper = {
      "Figure 7b, without numbers in the text: 24 blocks of width 768; Muon is above gradient descent and "
      "momentum."};
  const int64_t count = comparison.setting.inputs;
  const Sample muon = test_psnr(comparison, comparison.contenders[0], count, results);
  for (size_t other = 1; other < comparison.contenders.size(); ++other) {
    const Contender& contender = comparison.contenders[other];
    section.findings.push_back(beats(fmt::format("Muon has a higher PSNR than {}.", contender.label), muon,
                                     test_psnr(comparison, contender, count, results), Direction::higher));
  }
  section.charts = {psnr_chart(comparison, "Quality against views", results)};
  section.tables = {contender_table(comparison, count, results), rate_table(comparison, results)};
  section.notes = common_notes(comparison, results);
  section.notes.emplace_back(
      "All views of a scene are written at once, and the first step of a moving sum is the gradient itself: "
      "momentum is gradient descent here, with other random initial weights.");
  return section;
}

}  // namespace

Experiment test_time_optimizers(const Plan& plan) {
  const Setting setting = setting_of(plan);
  const Comparison comparison = {
      setting, {main_model(), momentum_model(), gradient_descent_model()}, "optimizers", setting.counts};
  return {"fig7b_views", "Figure 7b, views: test-time optimizers", steps_of(comparison),
          [=](const Results& results) { return optimizer_section(comparison, results); }};
}

}  // namespace lact::reproduce::views
