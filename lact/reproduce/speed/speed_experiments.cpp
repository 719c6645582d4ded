#include "lact/reproduce/speed/speed.h"

namespace lact::reproduce {

std::vector<Experiment> speed_experiments(const Plan& plan) {
  return {chunks_experiment(plan), states_experiment(plan), prefill_experiment(plan),
          training_experiment(plan), parallel_experiment(plan)};
}

}  // namespace lact::reproduce
