#include "lact/reproduce/experiment.h"

namespace lact::reproduce {

std::vector<Experiment> experiments(const Plan& plan) {
  std::vector<Experiment> all;
  for (const auto make :
       {speed_experiments, text_experiments, ruler_experiments, views_experiments, video_experiments})
    for (auto& experiment : make(plan)) all.push_back(std::move(experiment));
  return all;
}

}  // namespace lact::reproduce
