#include "lact/models/video/euler.h"

#include <ATen/ATen.h>

#include "lact/models/video/flow.h"
#include "lact/models/video/sigma_table.h"

namespace lact::models {

at::Tensor euler_step(const at::Tensor& sample, const at::Tensor& velocity, const at::Tensor& sigma,
                      const at::Tensor& next) {
  return sample + (next - sigma) * velocity;
}

std::vector<double> euler_sigmas(int64_t steps, double shift) {
  const at::Tensor table = SigmaTable({.steps = steps, .shift = shift, .last = 0}).sigmas().contiguous();
  std::vector<double> sigmas(table.data_ptr<double>(), table.data_ptr<double>() + steps);
  sigmas.push_back(0);
  return sigmas;
}

at::Tensor EulerSolver::take_step(const at::Tensor& velocity, const at::Tensor& sample) {
  const auto level = [&](int64_t index) {
    return at::scalar_tensor(sigmas()[size_t(index)], sample.options());
  };
  return euler_step(sample, velocity, level(position()), level(position() + 1));
}

double EulerSolver::timestep_of(double sigma) const { return kTrainingTimesteps * sigma; }

}  // namespace lact::models
