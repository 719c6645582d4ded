// Figure 7b, views: gradient descent, momentum and Muon.
#include <cmath>

#include "lact/reproduce/views/figures.h"
#include "lact/reproduce/views/runs.h"

namespace lact::reproduce::views {

namespace {

Section optimizer_section(const Comparison& comparison, const Step& momentum, const Step& plain,
                          const Results& results) {
  Section section;
  section.claim =
      "Fast weights that Muon updates give better views than those of gradient descent and momentum.";
  section.paper = {
      "Figure 7b, without numbers in the text: 24 blocks of width 768; Muon is above momentum, and "
      "that above gradient descent."};
  const Contender &muon = comparison.contenders[0], &descent = comparison.contenders[1];
  const int64_t count = comparison.setting.inputs;
  section.findings = {beats("LaCT with Muon has a higher PSNR than with gradient descent.",
                            test_psnr(comparison, muon, count, results),
                            test_psnr(comparison, descent, count, results), Direction::higher)};
  section.charts = {psnr_chart(comparison, "Quality against views", results)};
  section.tables = {contender_table(comparison, count, results), rate_table(comparison, results)};
  section.notes = common_notes(comparison, results);
  const double with = results.last(momentum.id, "valid_psnr"), without = results.last(plain.id, "valid_psnr");
  section.notes.push_back(fmt::format(
      "All views of a scene are written at once here, and the first step of a moving sum is the gradient "
      "itself: momentum and gradient descent are the same. A training of {} steps ends with {:.4f} dB with "
      "momentum and {:.4f} dB without.",
      comparison.setting.sweep_steps, with, without));
  return section;
}

}  // namespace

Experiment test_time_optimizers(const Plan& plan) {
  const Setting setting = setting_of(plan);
  const Comparison comparison = {
      setting, {main_model(), gradient_descent_model()}, "optimizers", setting.counts};
  const std::string& rate = setting.rates.back();
  const Step momentum = sweep_step(setting, momentum_model(), rate),
             plain = sweep_step(setting, gradient_descent_model(), rate);
  std::vector<Step> steps = steps_of(comparison);
  steps.push_back(momentum);
  if (setting.rates.size() == 1) steps.push_back(plain);
  return {"fig7b_views", "Figure 7b, views: test-time optimizers", steps,
          [=](const Results& results) { return optimizer_section(comparison, momentum, plain, results); }};
}

}  // namespace lact::reproduce::views
