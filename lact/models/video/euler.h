// Euler's method: straight on along the velocity, first order.
#pragma once

#include "lact/models/video/solver.h"

namespace lact::models {

/// sample + (next - sigma) velocity
at::Tensor euler_step(const at::Tensor& sample, const at::Tensor& velocity, const at::Tensor& sigma,
                      const at::Tensor& next);

/// Evenly from 1 to 0, then shifted.
std::vector<double> euler_sigmas(int64_t steps, double shift);

class EulerSolver : public Solver {
 public:
  explicit EulerSolver(std::vector<double> sigmas) : Solver(std::move(sigmas)) {}

 protected:
  at::Tensor take_step(const at::Tensor& velocity, const at::Tensor& sample) override;
  double timestep_of(double sigma) const override;
};

}  // namespace lact::models
