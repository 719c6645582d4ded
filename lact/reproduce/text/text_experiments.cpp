#include "lact/reproduce/experiment.h"

namespace lact::reproduce {

std::vector<Experiment> text_experiments(const Plan& plan) { return {}; }

}  // namespace lact::reproduce
