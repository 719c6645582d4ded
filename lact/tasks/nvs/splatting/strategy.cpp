#include "lact/tasks/nvs/splatting/strategy.h"

namespace lact::tasks::nvs {

std::unique_ptr<Strategy> make_strategy(const SplatConfig& config, double extent) {
  return config.strategy == SplatStrategy::mcmc ? make_mcmc(config, extent) : make_classic(config, extent);
}

bool is_due(const SplatStep& step, double from, double until, int64_t every) {
  return step.number % every == 0 && step.share >= from && step.share < until;
}

}  // namespace lact::tasks::nvs
