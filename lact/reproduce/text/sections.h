// The text experiments, one function per figure.
#pragma once

#include "lact/reproduce/experiment.h"

namespace lact::reproduce::text {

Experiment state_against_loss(const Plan& plan);      ///< figure 1c
Experiment position_and_retrieval(const Plan& plan);  ///< figure 5
Experiment state_scaling(const Plan& plan);           ///< figure 7a
Experiment optimizers(const Plan& plan);              ///< figure 7b
Experiment linear_or_not(const Plan& plan);           ///< figure 8a
Experiment chunk_or_token(const Plan& plan);          ///< figure 8b
Experiment later_findings(const Plan& plan);          ///< what came after the paper

}  // namespace lact::reproduce::text
