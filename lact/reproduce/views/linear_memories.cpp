// Figure 8, views: linear against nonlinear fast weights, and against a recurrence token by token.
#include "lact/reproduce/views/figures.h"
#include "lact/reproduce/views/runs.h"

namespace lact::reproduce::views {

namespace {

/// What both have: the first contender beats the second.
Section two_contenders(const Comparison& comparison, const std::string& statement, const Results& results) {
  Section section;
  const int64_t count = comparison.setting.inputs;
  section.findings = {beats(statement, test_psnr(comparison, comparison.contenders[0], count, results),
                            test_psnr(comparison, comparison.contenders[1], count, results),
                            Direction::higher)};
  section.charts = {psnr_chart(comparison, "Quality against views", results)};
  section.tables = {contender_table(comparison, count, results), rate_table(comparison, results)};
  section.notes = common_notes(comparison, results);
  return section;
}

Section network_section(const Comparison& comparison, const Results& results) {
  Section section = two_contenders(
      comparison, "A SwiGLU memory has a higher PSNR than a linear one with a larger state.", results);
  section.claim = "Nonlinear fast weights are better than linear ones, even with a smaller state.";
  section.paper = {
      "Figure 8a, without numbers in the text: 24 blocks of width 768, 671 billion tokens; SwiGLU is "
      "above the linear memory, whose state is larger."};
  section.notes.emplace_back("Both are updated by Muon with the same loss.");
  return section;
}

Section recurrence_section(const Comparison& comparison, const Results& results) {
  Section section = two_contenders(
      comparison, "A linear memory that is written at once has a higher PSNR than Mamba-2 of the same state.",
      results);
  section.claim =
      "A linear recurrence over one large chunk is better than a linear recurrence token by token with the "
      "same "
      "state.";
  section.paper = {
      "Figure 8b, without numbers in the text: both have d² per block, and attention inside of each "
      "view; the large chunk is clearly above Mamba-2 in both directions."};
  section.notes.emplace_back(
      "Mamba-2 has projections of its own for each direction, as in the paper, and therefore more "
      "parameters.");
  return section;
}

}  // namespace

Experiment linear_and_nonlinear(const Plan& plan) {
  const Setting setting = setting_of(plan);
  const Comparison comparison = {setting, {lact_model("0.25"), linear_model()}, "networks", setting.counts};
  return {"fig8a_views", "Figure 8a, views: linear and nonlinear fast weights", steps_of(comparison),
          [=](const Results& results) { return network_section(comparison, results); }};
}

Experiment chunks_and_single_tokens(const Plan& plan) {
  const Setting setting = setting_of(plan);
  const Comparison comparison = {setting, {linear_model(), mamba2_model()}, "recurrences", setting.counts};
  return {"fig8b_views", "Figure 8b, views: large chunk and recurrence token by token", steps_of(comparison),
          [=](const Results& results) { return recurrence_section(comparison, results); }};
}

}  // namespace lact::reproduce::views
