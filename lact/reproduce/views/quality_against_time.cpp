// Figure 1d: PSNR against the time that training has taken.
#include <fmt/format.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/reproduce/views/figures.h"
#include "lact/reproduce/views/runs.h"

namespace lact::reproduce::views {

namespace {

/// PSNR on validation scenes against seconds of training, validations included.
eval::Curve psnr_against_seconds(const Contender& contender, int64_t seed, const Results& results) {
  const std::string id = training_id(contender, seed);
  const eval::Curves& curves = results.curves(id);
  const auto psnr = curves.find("valid_psnr"), tokens = curves.find("tokens");
  LACT_CHECK(psnr != curves.end() && tokens != curves.end() && !tokens->second.step.empty(),
             "{}: its metrics have no valid_psnr or tokens", id);
  // Steps are all alike, and the speed of the last record is the mean of the run.
  const double tokens_per_step = tokens->second.value.back() / tokens->second.step.back();
  const double speed = results.last(id, "tokens_per_second");
  LACT_CHECK(speed > 0, "{}: tokens_per_second is {}, expected more than 0", id, speed);
  eval::Curve curve;
  for (size_t i = 0; i < psnr->second.step.size(); ++i) {
    curve.step.push_back(psnr->second.step[i] * tokens_per_step / speed);
    curve.value.push_back(psnr->second.value[i]);
  }
  return curve;
}

/// On the straight line between the two nearest points; the first or last one outside.
double value_at(const eval::Curve& curve, double seconds) {
  const auto after = std::lower_bound(curve.step.begin(), curve.step.end(), seconds);
  const auto i = size_t(after - curve.step.begin());
  if (i == 0) return curve.value.front();
  if (i == curve.step.size()) return curve.value.back();
  const double share = (seconds - curve.step[i - 1]) / (curve.step[i] - curve.step[i - 1]);
  return curve.value[i - 1] + share * (curve.value[i] - curve.value[i - 1]);
}

struct TimedContender {
  Contender contender;
  std::vector<eval::Curve> curves;  ///< of every seed

  /// Of the fastest seed.
  double seconds() const {
    double least = curves.front().step.back();
    for (const auto& curve : curves) least = std::min(least, curve.step.back());
    return least;
  }
  Sample psnr_at(double seconds) const {
    Sample sample = {contender.label, {}};
    for (const auto& curve : curves) sample.values.push_back(value_at(curve, seconds));
    return sample;
  }
  /// At the times of the validations, means over the seeds.
  Line line() const {
    Line line;
    line.name = contender.label;
    for (size_t i = 0; i < curves.front().step.size(); ++i) {
      double seconds = 0;
      Sample sample = {"", {}};
      for (const auto& curve : curves) {
        LACT_CHECK(i < curve.step.size(), "{}: one seed has fewer validations than another", contender.id);
        seconds += curve.step[i] / double(curves.size());
        sample.values.push_back(curve.value[i]);
      }
      add_point(line, seconds, sample);
    }
    return line;
  }
};

Section section_of(const Comparison& comparison, const Results& results) {
  Section section;
  section.claim =
      "Fast weights that are written in large chunks reach a better quality in less time of training than "
      "full "
      "attention and a Perceiver.";
  section.paper = {
      "Figure 1d, without numbers in the text: 14 blocks of width 768, 167 billion tokens, an A100; LaCT is "
      "above the others at every time."};
  std::vector<TimedContender> timed;
  double common = 0;  // when the first of all trainings ended
  for (const Contender& contender : comparison.contenders) {
    timed.push_back({contender, {}});
    for (int64_t seed = 1; seed <= comparison.setting.seeds; ++seed)
      timed.back().curves.push_back(psnr_against_seconds(contender, seed, results));
    common = timed.size() == 1 ? timed.back().seconds() : std::min(common, timed.back().seconds());
  }
  Chart chart = {"Quality against the time of training", "seconds of one core", "PSNR in dB", false, {}};
  Table table = {fmt::format("At the time when the first training has ended, {:.0f} s", common),
                 {"contender", "whole training, s", "PSNR at that time"},
                 {}};
  for (const TimedContender& one : timed) {
    chart.lines.push_back(one.line());
    table.rows.push_back(
        {one.contender.label, fmt::format("{:.0f}", one.seconds()), one.psnr_at(common).text()});
  }
  section.charts = {chart};
  section.tables = {table, contender_table(comparison, comparison.setting.inputs, results),
                    rate_table(comparison, results)};
  for (size_t i = 1; i < timed.size(); ++i)
    section.findings.push_back(
        beats(fmt::format("After the same time, LaCT has a higher PSNR than {}.", timed[i].contender.label),
              timed[0].psnr_at(common), timed[i].psnr_at(common), Direction::higher));
  section.notes = common_notes(comparison, results);
  section.notes.emplace_back(
      "All contenders take the same number of steps of the same tokens; seconds are tokens by the mean speed "
      "of "
      "the run, with other runs of the suite on the other cores.");
  return section;
}

}  // namespace

Experiment quality_against_time(const Plan& plan) {
  const Setting setting = setting_of(plan);
  const Comparison comparison = {
      setting, {main_model(), full_attention_model(), perceiver_model()}, "time", {setting.inputs}};
  return {"fig1d", "Figure 1d: quality against time of training", steps_of(comparison),
          [=](const Results& results) { return section_of(comparison, results); }};
}

}  // namespace lact::reproduce::views
