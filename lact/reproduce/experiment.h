// One figure or table of the paper: the steps it takes, and what their results say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lact/reproduce/plan.h"
#include "lact/reproduce/results.h"
#include "lact/reproduce/section.h"
#include "lact/reproduce/step.h"

namespace lact::reproduce {

struct Experiment {
  std::string id;     ///< as in --only: "fig1a"
  std::string title;  ///< "Figure 1a: throughput against chunk size"
  std::vector<Step> steps;
  /// Reads the results of all its steps. `id` and `title`, commands and seconds are filled in by the suite.
  std::function<Section(const Results&)> section;
};

/// All of them in the paper's order. Those of a kind are made in text/, views/, video/ and speed/.
std::vector<Experiment> experiments(const Plan& plan);

std::vector<Experiment> speed_experiments(const Plan& plan);
std::vector<Experiment> text_experiments(const Plan& plan);
std::vector<Experiment> ruler_experiments(const Plan& plan);
std::vector<Experiment> views_experiments(const Plan& plan);
std::vector<Experiment> video_experiments(const Plan& plan);

}  // namespace lact::reproduce
