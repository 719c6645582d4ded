// Figures 1c and 7a: the larger the state, the better; most where much has been read.
#include "lact/reproduce/text/sections.h"
#include "lact/reproduce/text/trainings.h"

namespace lact::reproduce::text {

namespace {

/// From the smallest state to the largest: heads of the same total width.
std::vector<Contender> by_state(const Plan& plan) {
  if (plan.smoke()) return {lact_heads(4), lact_heads(2)};
  return {lact_heads(8), lact_heads(4), lact_heads(2), lact_heads(1)};
}

Sample gap(const std::string& name, const Sample& small, const Sample& large) {
  Sample sample{name, {}};
  for (size_t i = 0; i < std::min(small.values.size(), large.values.size()); ++i)
    sample.values.push_back(small.values[i] - large.values[i]);
  return sample;
}

}  // namespace

Experiment state_against_loss(const Plan& plan) {
  const Trainings trainings(plan, by_state(plan));
  Experiment experiment{"fig1c", "Figure 1c: loss against state size", trainings.steps(false), {}};
  experiment.section = [trainings](const Results& results) {
    Section section;
    section.claim = "A larger state of the fast weights gives a lower loss at the end of long texts.";
    section.paper = {
        "760M parameters: head widths of 128 to 1536 (state per block 0.25 d² to 3 d²), loss of the last "
        "2,048 "
        "of 32,768 tokens falls with every step (printed as a curve)."};
    std::vector<Sample> samples;
    Line line{"LaCT, Muon", {}, {}, {}, {}};
    for (const auto& one : trainings.contenders()) {
      samples.push_back(trainings.last_quarter(results, one));
      line.x.push_back(double(trainings.state(results, one)));
      line.y.push_back(samples.back().mean());
      if (samples.back().values.size() < 2) continue;
      line.low.push_back(samples.back().mean() - samples.back().deviation());
      line.high.push_back(samples.back().mean() + samples.back().deviation());
    }
    section.charts = {
        {"Loss of the last quarter", "numbers in the state", "loss, nats per token", true, {line}}};
    section.findings = {
        improves("The loss at the end of a text falls as the state grows", samples, Direction::lower)};
    section.tables = {trainings.summary(results, false), trainings.rate_table(results)};
    section.notes = trainings.notes(results);
    return section;
  };
  return experiment;
}

Experiment state_scaling(const Plan& plan) {
  const Trainings trainings(plan, by_state(plan));
  Experiment experiment{"fig7a", "Figure 7a: state scaling (text)", trainings.steps(false), {}};
  experiment.section = [trainings](const Results& results) {
    Section section;
    section.claim =
        "Larger states are better throughout, and the gap between small and large ones widens with the "
        "length "
        "of the text.";
    section.paper = {"The gap between small and large states widens with the length (printed as curves)."};
    section.charts = {trainings.loss_chart(results)};
    const auto& all = trainings.contenders();
    const Contender &small = all.front(), &large = all.back();
    section.findings = {
        beats("The largest state has a lower loss than the smallest in the last quarter of positions",
              trainings.last_quarter(results, large), trainings.last_quarter(results, small),
              Direction::lower),
        beats("The gap between them is larger in the last quarter than in the first",
              gap("gap, last quarter", trainings.last_quarter(results, small),
                  trainings.last_quarter(results, large)),
              gap("gap, first quarter", trainings.first_quarter(results, small),
                  trainings.first_quarter(results, large)),
              Direction::higher)};
    section.tables = {trainings.summary(results, false), trainings.rate_table(results)};
    section.notes = trainings.notes(results);
    return section;
  };
  return experiment;
}

}  // namespace lact::reproduce::text
