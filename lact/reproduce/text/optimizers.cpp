// Figure 7b: what takes the steps at test time.
#include "lact/reproduce/text/sections.h"
#include "lact/reproduce/text/trainings.h"

namespace lact::reproduce::text {

Experiment optimizers(const Plan& plan) {
  const Trainings trainings(plan, {lact_gd(), lact_momentum(), lact_muon()});
  Experiment experiment{"fig7b", "Figure 7b: test-time optimizers (text)", trainings.steps(false), {}};
  experiment.section = [trainings](const Results& results) {
    Section section;
    section.claim = "Muon is a better test-time optimizer than gradient descent and momentum.";
    section.paper = {"Muon is consistently better than both (printed as curves)."};
    for (const auto& other : {lact_gd(), lact_momentum()}) {
      section.findings.push_back(
          beats(lact_muon().name + " has a lower loss in the last quarter of positions than " + other.name,
                trainings.last_quarter(results, lact_muon()), trainings.last_quarter(results, other),
                Direction::lower));
    }
    trainings.show_losses(results, section);
    return section;
  };
  return experiment;
}

}  // namespace lact::reproduce::text
