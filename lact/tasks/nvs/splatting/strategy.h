// What becomes of a population of Gaussians besides the steps of its optimizer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "lact/ops/splat/splat.h"
#include "lact/tasks/nvs/splatting/population.h"

namespace lact::tasks::nvs {

struct SplatStep {
  int64_t number = 0;        ///< of this step, from 1 on
  double share = 0;          ///< of the run that is over
  double before = 0;         ///< the same at the step before
  double position_rate = 0;  ///< of this step, in units of the world
  uint64_t seed = 0;         ///< for random numbers of this step
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  /// What the loss gets besides the difference of pictures; undefined for nothing.
  virtual at::Tensor penalty(const ops::Gaussians& /*gaussians*/) const { return {}; }

  /// Whether it wants the gradient of the places in the picture: SplatOptions::screen_offsets.
  virtual bool watches_places() const { return false; }
  /// After the backward pass. `offsets` has that gradient.
  virtual void watch(const ops::SplatImage& /*picture*/, const at::Tensor& /*offsets*/) {}

  /// After the optimizer's step.
  virtual void after_step(Population& population, const SplatStep& step) = 0;

  /// What a run needs to go on with besides the population.
  virtual void save(std::map<std::string, at::Tensor>& /*tensors*/) const {}
  virtual void load(const std::map<std::string, at::Tensor>& /*tensors*/, const std::string& /*file*/,
                    int64_t /*count*/) {}
};

/// `extent` is the unit of positions and sizes.
std::unique_ptr<Strategy> make_strategy(const SplatConfig& config, double extent);

std::unique_ptr<Strategy> make_mcmc(const SplatConfig& config, double extent);
std::unique_ptr<Strategy> make_classic(const SplatConfig& config, double extent);

/// Whether Gaussians are added and moved or removed now.
bool is_due(const SplatStep& step, const RefinementConfig& refinement);

}  // namespace lact::tasks::nvs
