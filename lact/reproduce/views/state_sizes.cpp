// Figure 7a, views: PSNR against the size of the fast weights.
#include "lact/base/error.h"
#include "lact/reproduce/views/figures.h"
#include "lact/reproduce/views/runs.h"

namespace lact::reproduce::views {

namespace {

/// Numbers of all blocks that a scene is written into.
double state_of(const Contender& contender, const Results& results) {
  const auto& json = results.json(info_id(contender));
  const auto state = json.find("state");
  LACT_CHECK(state != json.end() && state->is_number(), "{}: its result has no number state",
             info_id(contender));
  return state->get<double>();
}

Section state_section(const Comparison& comparison, const Results& results) {
  Section section;
  section.claim = "Larger fast weights give better views.";
  section.paper = {
      "Figure 7a, without numbers in the text: hidden widths of 192 to 3,072 in 768 channels, one "
      "head, 0.75 to 12 d² per block; PSNR rises with each of them."};
  const int64_t count = comparison.setting.inputs;
  Chart sizes = {
      "Quality against the size of the state", "numbers in the fast weights", "PSNR in dB", true, {}};
  for (const int64_t views : comparison.counts) {
    Line line;
    line.name = fmt::format("{} views", views);
    for (const Contender& contender : comparison.contenders)
      add_point(line, state_of(contender, results), test_psnr(comparison, contender, views, results));
    sizes.lines.push_back(line);
  }
  std::vector<Sample> samples;
  for (const Contender& contender : comparison.contenders)
    samples.push_back(test_psnr(comparison, contender, count, results));
  section.findings = {improves("PSNR rises with the size of the state.", samples, Direction::higher)};
  section.charts = {sizes, psnr_chart(comparison, "Quality against views", results)};
  section.tables = {contender_table(comparison, count, results), rate_table(comparison, results)};
  section.notes = common_notes(comparison, results);
  section.notes.emplace_back(
      "The initial fast weights are learned, so that a larger state also means more parameters, as in the "
      "paper.");
  return section;
}

}  // namespace

Experiment state_sizes(const Plan& plan) {
  const Setting setting = setting_of(plan);
  std::vector<Contender> contenders;
  for (const char* multiple : {"0.25", "0.5", "1", "2", "4"}) {
    const std::string text = multiple;
    if (plan.smoke() && text != "0.25" && text != "2") continue;
    contenders.push_back(lact_model(text));
  }
  const Comparison comparison = {setting, contenders, "state", setting.counts};
  return {"fig7a_views", "Figure 7a, views: size of the state", steps_of(comparison),
          [=](const Results& results) { return state_section(comparison, results); }};
}

}  // namespace lact::reproduce::views
