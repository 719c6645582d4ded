#include "lact/reproduce/experiment.h"

namespace lact::reproduce {

std::vector<Experiment> ruler_experiments(const Plan& plan) { return {}; }

}  // namespace lact::reproduce
