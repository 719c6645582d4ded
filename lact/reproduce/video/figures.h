// Figures 6a to 6c, one file each.
#pragma once

#include "lact/reproduce/experiment.h"

namespace lact::reproduce::video {

Experiment contenders_by_chunk(const Plan& plan);  ///< 6a
Experiment window_sizes(const Plan& plan);         ///< 6b
Experiment longer_clips(const Plan& plan);         ///< 6c

/// The step of figure 6a that evaluates all contenders of a seed, which 6b reads as well.
Step contenders_evaluation(const Plan& plan, int64_t seed);

}  // namespace lact::reproduce::video
