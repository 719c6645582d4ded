// The paper's figures and tables about speed. A section is a function of what the commands printed; `quick`
// says that shapes were those of --quick, which gives no verdicts.
#pragma once

#include <map>

#include "lact/reproduce/experiment.h"

namespace lact::reproduce {

/// By the name of the preset that `lact info` was asked about.
using Infos = std::map<std::string, options::Json>;

Experiment chunks_experiment(const Plan& plan);    ///< figure 1a
Experiment states_experiment(const Plan& plan);    ///< figure 1b
Experiment prefill_experiment(const Plan& plan);   ///< table 2
Experiment training_experiment(const Plan& plan);  ///< tables 3 and 7
Experiment parallel_experiment(const Plan& plan);  ///< section "Context Parallelism"

Section chunks_section(const options::Json& bench, bool quick);
Section states_section(const options::Json& bench, bool quick);
Section prefill_section(const options::Json& bench, const Infos& infos, bool quick);
Section training_section(const options::Json& bench, const Infos& infos, bool quick);
Section parallel_section(const options::Json& bench, bool quick);

}  // namespace lact::reproduce
