#include "lact/reproduce/views/figures.h"

namespace lact::reproduce {

std::vector<Experiment> views_experiments(const Plan& plan) {
  return {views::quality_against_time(plan), views::quality_against_views(plan),
          views::state_sizes(plan),          views::test_time_optimizers(plan),
          views::linear_and_nonlinear(plan), views::chunks_and_single_tokens(plan)};
}

}  // namespace lact::reproduce
