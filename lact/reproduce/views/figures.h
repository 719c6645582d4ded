// The figures of the paper that are about views.
#pragma once

#include "lact/reproduce/experiment.h"

namespace lact::reproduce::views {

Experiment quality_against_time(const Plan& plan);      ///< figure 1d
Experiment quality_against_views(const Plan& plan);     ///< figure 4
Experiment state_sizes(const Plan& plan);               ///< figure 7a, views
Experiment test_time_optimizers(const Plan& plan);      ///< figure 7b, views
Experiment linear_and_nonlinear(const Plan& plan);      ///< figure 8a, views
Experiment chunks_and_single_tokens(const Plan& plan);  ///< figure 8b, views

}  // namespace lact::reproduce::views
