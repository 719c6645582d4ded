// Figure 5: loss against position, and retrieval against distance.
#include "lact/reproduce/text/sections.h"
#include "lact/reproduce/text/trainings.h"

namespace lact::reproduce::text {

Experiment position_and_retrieval(const Plan& plan) {
  const Trainings trainings(plan, {full_attention(), window_only(), gla(), deltanet(), wide_gla(),
                                   wide_deltanet(), lact_momentum(), lact_muon()});
  Experiment experiment{"fig5", "Figure 5: loss against position, and retrieval", trainings.steps(true), {}};
  experiment.section = [trainings](const Results& results) {
    Section section;
    section.claim =
        "LaCT has a lower loss at late positions and retrieves better than GLA and DeltaNet with the same "
        "window; Muon is better than momentum.";
    section.paper = {
        "At 760M and 3B parameters the loss of LaCT is below that of GLA and DeltaNet at late positions "
        "(printed as curves).",
        "S-NIAH-1 and S-NIAH-2: LaCT retrieves more than GLA and DeltaNet, Muon more than momentum."};
    const auto late = [&](const Contender& one) { return trainings.last_quarter(results, one); };
    const auto right = [&](const Contender& one) {
      return trainings.recall(results, one, trainings.setting().window);
    };
    const std::string loss = " has a lower loss in the last quarter of positions than ";
    const std::string more = " is right more often beyond the window than ";
    for (const auto& other : {window_only(), gla(), deltanet(), wide_gla(), wide_deltanet()}) {
      section.findings.push_back(
          beats(lact_muon().name + loss + other.name, late(lact_muon()), late(other), Direction::lower));
      section.findings.push_back(
          beats(lact_muon().name + more + other.name, right(lact_muon()), right(other), Direction::higher));
    }
    section.findings.push_back(beats(lact_muon().name + more + lact_momentum().name, right(lact_muon()),
                                     right(lact_momentum()), Direction::higher));
    section.charts = {trainings.loss_chart(results), trainings.recall_chart(results)};
    section.tables = {trainings.summary(results, true), trainings.rate_table(results)};
    section.notes = trainings.notes(results);
    section.notes.push_back(kStates);
    return section;
  };
  return experiment;
}

}  // namespace lact::reproduce::text
