#include "lact/reproduce/text/sections.h"

namespace lact::reproduce {

std::vector<Experiment> text_experiments(const Plan& plan) {
  return {text::state_against_loss(plan), text::position_and_retrieval(plan), text::state_scaling(plan),
          text::optimizers(plan),         text::linear_or_not(plan),          text::chunk_or_token(plan),
          text::later_findings(plan)};
}

}  // namespace lact::reproduce
