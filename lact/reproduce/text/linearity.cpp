// Figure 8: linear fast weights beside nonlinear ones, and large chunks beside recurrences of every token.
#include "lact/reproduce/text/sections.h"
#include "lact/reproduce/text/trainings.h"

namespace lact::reproduce::text {

namespace {

constexpr const char* kLower = " has a lower loss in the last quarter of positions than ";

Finding lower_loss(const Trainings& trainings, const Results& results, const Contender& better,
                   const Contender& worse) {
  return beats(better.name + kLower + worse.name, trainings.last_quarter(results, better),
               trainings.last_quarter(results, worse), Direction::lower);
}

}  // namespace

Experiment linear_or_not(const Plan& plan) {
  // SwiGLU with 4 heads has 3/4 of the numbers of one linear matrix.
  const Trainings trainings(plan, {linear_muon(), lact_heads(4), lact_heads(2)});
  Experiment experiment{
      "fig8a", "Figure 8a: linear and nonlinear fast weights (text)", trainings.steps(false), {}};
  experiment.section = [trainings](const Results& results) {
    Section section;
    section.claim = "Nonlinear fast weights are better than linear ones although their state is smaller.";
    section.paper = {"SwiGLU is better than a linear fast weight with a larger state (printed as curves)."};
    section.findings = {lower_loss(trainings, results, lact_heads(4), linear_muon()),
                        reaches("The nonlinear state is not larger", "nonlinear state / linear state",
                                double(trainings.state(results, lact_heads(4))) /
                                    double(trainings.state(results, linear_muon())),
                                1, Direction::lower)};
    trainings.show_losses(results, section);
    return section;
  };
  return experiment;
}

Experiment chunk_or_token(const Plan& plan) {
  const Trainings trainings(plan, {gla(), deltanet(), wide_gla(), wide_deltanet(), linear_gd(), lact_muon()});
  Experiment experiment{
      "fig8b", "Figure 8b: large chunks and recurrences of every token (text)", trainings.steps(false), {}};
  experiment.section = [trainings](const Results& results) {
    Section section;
    section.claim =
        "In text, a linear fast weight with large chunks is worse than GLA at the same state; with a larger "
        "nonlinear state and Muon it is better than recurrences of every token.";
    section.paper = {
        "760M parameters: linear large chunks and GLA have 0.25 d² numbers per block, nonlinear "
        "with Muon 1.5 d² (printed as curves)."};
    section.findings = {lower_loss(trainings, results, gla(), linear_gd()),
                        lower_loss(trainings, results, lact_muon(), gla()),
                        lower_loss(trainings, results, lact_muon(), deltanet()),
                        lower_loss(trainings, results, lact_muon(), wide_gla()),
                        lower_loss(trainings, results, lact_muon(), wide_deltanet())};
    trainings.show_losses(results, section);
    section.notes.push_back(kStates);
    return section;
  };
  return experiment;
}

}  // namespace lact::reproduce::text
