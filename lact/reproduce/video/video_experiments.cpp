#include "lact/reproduce/experiment.h"

namespace lact::reproduce {

std::vector<Experiment> video_experiments(const Plan& plan) { return {}; }

}  // namespace lact::reproduce
