// What tests of the paper's experiments ask for.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "lact/reproduce/experiment.h"

namespace lact::reproduce {

inline constexpr Plan kTwoHours = {.budget = Budget::two_hours, .seeds = 3};

/// The one of this id.
inline Experiment find_experiment(const std::vector<Experiment>& all, const std::string& id) {
  for (const Experiment& one : all)
    if (one.id == id) return one;
  throw std::runtime_error("no experiment " + id);
}

inline std::vector<Verdict> verdicts(const Section& section) {
  std::vector<Verdict> all;
  for (const Finding& finding : section.findings) all.push_back(finding.verdict);
  return all;
}

}  // namespace lact::reproduce
