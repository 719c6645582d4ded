#include "lact/models/video/solver.h"

#include <cmath>

#include "lact/base/error.h"
#include "lact/models/video/euler.h"
#include "lact/models/video/unipc.h"

namespace lact::models {

namespace {

constexpr int64_t kMostSolverSteps = 1000;

}  // namespace

void SolverOptions::check() const {
  LACT_CHECK(steps >= 1 && steps <= kMostSolverSteps, "[solver] steps is {}, expected 1 to {}", steps,
             kMostSolverSteps);
  LACT_CHECK(std::isfinite(shift) && shift > 0, "[solver] shift is {}, expected a number above 0", shift);
}

Solver::Solver(std::vector<double> sigmas) : sigmas_(std::move(sigmas)) {
  LACT_CHECK(sigmas_.size() >= 2, "[solver] {} noise levels, expected at least 2", sigmas_.size());
  for (size_t i = 0; i < sigmas_.size(); ++i)
    LACT_CHECK(sigmas_[i] >= 0 && sigmas_[i] <= 1 && (i == 0 || sigmas_[i] < sigmas_[i - 1]),
               "[solver] noise level {} is {}, expected levels that fall from at most 1 to at least 0", i,
               sigmas_[i]);
}

at::Tensor Solver::step(const at::Tensor& velocity, const at::Tensor& sample) {
  LACT_CHECK(!done(), "[solver] all {} steps are taken", steps());
  LACT_CHECK(velocity.sizes() == sample.sizes(), "[solver] a velocity of shape {} for a sample of shape {}",
             velocity.sizes().vec(), sample.sizes().vec());
  at::Tensor next = take_step(velocity, sample);
  ++position_;
  return next;
}

std::unique_ptr<Solver> make_solver(const SolverOptions& options) {
  options.check();
  if (options.solver == SolverKind::euler)
    return std::make_unique<EulerSolver>(euler_sigmas(options.steps, options.shift));
  return std::make_unique<UniPcSolver>(unipc_sigmas(options.steps, options.shift));
}

}  // namespace lact::models
