// What later work says about the same layer: more inner steps do not help, the sign of the gradient does not
// matter, and much of the update can be left out.
#include "lact/reproduce/text/sections.h"
#include "lact/reproduce/text/trainings.h"

namespace lact::reproduce::text {

namespace {

Contender two_steps() { return lact_variant("steps2", "2 inner steps", {"steps=2"}, 1.6); }
Contender four_steps() { return lact_variant("steps4", "4 inner steps", {"steps=4"}, 2.8); }
Contender ascent() { return lact_variant("ascent", "gradient ascent", {"ascent=true"}); }
Contender down_only() { return lact_variant("down", "only the last matrix", {"written=down"}, 0.8); }
Contender no_norm() { return lact_variant("nonorm", "no weight norm", {"norm_placement=none"}); }
Contender no_momentum() { return lact_variant("nomomentum", "no momentum", {"momentum=false"}); }

/// Four steps take as long as three contenders: not for the shortest budget that decides anything.
std::vector<Contender> with_more_steps(const Plan& plan) {
  if (plan.budget == Budget::two_hours) return {two_steps()};
  return {two_steps(), four_steps()};
}

std::vector<Contender> all_contenders(const Plan& plan) {
  std::vector<Contender> all = {lact_muon()};
  for (const auto& more : with_more_steps(plan)) all.push_back(more);
  for (const auto& less : {ascent(), down_only(), no_norm(), no_momentum(), lact_momentum()})
    all.push_back(less);
  return all;
}

/// Means that differ by less than this share count as equal.
constexpr double kShare = 0.02;

}  // namespace

Experiment later_findings(const Plan& plan) {
  const Trainings trainings(plan, all_contenders(plan));
  Experiment experiment{
      "since", "Later findings: inner steps, ascent, what can be switched off", trainings.steps(false), {}};
  experiment.section = [plan, trainings](const Results& results) {
    Section section;
    section.claim =
        "More inner steps do not help, gradient ascent works as well, and writing only the last matrix, "
        "without weight norm, momentum and Muon, costs little.";
    section.paper = {"arXiv 2602.21204, about LaCT: these four statements, for view synthesis and language."};
    const auto late = [&](const Contender& one) { return trainings.last_quarter(results, one); };
    for (const auto& more : with_more_steps(plan)) {
      section.findings.push_back(comparable("One inner step is as good as " + more.name, late(lact_muon()),
                                            late(more), Direction::lower, kShare));
    }
    for (const auto& less : {ascent(), down_only(), no_norm(), no_momentum()}) {
      section.findings.push_back(comparable("LaCT with " + less.name + " is as good as without the change",
                                            late(less), late(lact_muon()), Direction::lower, kShare));
    }
    section.findings.push_back(comparable("LaCT without Muon is as good as with it", late(lact_momentum()),
                                          late(lact_muon()), Direction::lower, kShare));
    trainings.show_losses(results, section);
    return section;
  };
  return experiment;
}

}  // namespace lact::reproduce::text
