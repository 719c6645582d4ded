#include "lact/reproduce/experiment.h"

namespace lact::reproduce {

std::vector<Experiment> speed_experiments(const Plan& plan) { return {}; }

}  // namespace lact::reproduce
