#include "lact/tasks/nvs/splatting/strategy.h"

namespace lact::tasks::nvs {

std::unique_ptr<Strategy> make_strategy(const SplatConfig& config, double extent) {
  return config.strategy == SplatStrategy::mcmc ? make_mcmc(config, extent) : make_classic(config, extent);
}

bool is_due(const SplatStep& step, const RefinementConfig& refinement) {
  return step.number % refinement.refine_every == 0 && step.share >= refinement.refine_from &&
         step.share < refinement.refine_until;
}

}  // namespace lact::tasks::nvs
