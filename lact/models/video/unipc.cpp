#include "lact/models/video/unipc.h"

#include <ATen/ATen.h>

#include <cmath>

#include "lact/base/error.h"
#include "lact/models/video/flow.h"

namespace lact::models {

namespace {

constexpr int64_t kUniPcOrder = 2;
constexpr double kNoisiest = 0.999;  // before the shifts

/// Right-hand sides k! phi(k + 1) / B(h) of the conditions for orders 1 and 2, where
/// phi(1) = B(h) = e^-h - 1 and phi(k + 1) = -phi(k) / h - 1 / k!.
struct OrderConditions {
  double first, second;
};

OrderConditions order_conditions(double length) {
  const double phi1 = std::expm1(-length), phi2 = -phi1 / length - 1, phi3 = -phi2 / length - 0.5;
  return {phi2 / phi1, 2 * phi3 / phi1};
}

}  // namespace

std::vector<double> unipc_sigmas(int64_t steps, double shift) {
  const double first = shift_time(kNoisiest, shift);
  std::vector<double> sigmas;
  for (int64_t i = 0; i < steps; ++i)
    sigmas.push_back(shift_time(first * double(steps - i) / double(steps), shift));
  sigmas.push_back(0);
  return sigmas;
}

UniPcSolver::UniPcSolver(std::vector<double> levels) : Solver(std::move(levels)) {
  LACT_CHECK(sigmas().front() < 1, "[solver] the first noise level is {}, but UniPC needs one below 1",
             sigmas().front());
  for (const double sigma : sigmas()) log_ratio_.push_back(std::log1p(-sigma) - std::log(sigma));
}

double UniPcSolver::timestep_of(double sigma) const { return std::floor(kTrainingTimesteps * sigma); }

at::Tensor UniPcSolver::take_step(const at::Tensor& velocity, const at::Tensor& sample) {
  const at::Tensor clean = sample - sigmas()[size_t(position())] * velocity;
  corrected_ = position() > 0 ? correct(clean) : sample;
  clean_.push_back(clean);
  if (int64_t(clean_.size()) > kUniPcOrder) clean_.pop_front();
  order_ = std::min({kUniPcOrder, steps() - position(), int64_t(clean_.size())});
  return predict();
}

/// From the level before to this one, now that `clean` is known at its end.
at::Tensor UniPcSolver::correct(const at::Tensor& clean) const {
  const auto to = size_t(position()), from = to - 1;
  const double length = log_ratio_[to] - log_ratio_[from];
  const at::Tensor& newest = clean_.back();
  at::Tensor slope;
  if (order_ == 1) {
    slope = 0.5 * (clean - newest);
  } else {
    // [1 1; ratio 1] [older, now] = [first, second]
    const OrderConditions conditions = order_conditions(length);
    const double ratio = (log_ratio_[from - 1] - log_ratio_[from]) / length;
    const double older = (conditions.first - conditions.second) / (1 - ratio), now = conditions.first - older;
    slope = older * (clean_.front() - newest) / ratio + now * (clean - newest);
  }
  const double signal = 1 - sigmas()[to];
  return sigmas()[to] / sigmas()[from] * corrected_ - signal * std::expm1(-length) * (newest + slope);
}

/// From this level to the next.
at::Tensor UniPcSolver::predict() const {
  const auto from = size_t(position()), to = from + 1;
  const double length = log_ratio_[to] - log_ratio_[from];
  at::Tensor direction = clean_.back();
  if (order_ == 2) {
    const double ratio = (log_ratio_[from - 1] - log_ratio_[from]) / length;
    direction = direction + 0.5 * (clean_.front() - clean_.back()) / ratio;
  }
  const double signal = 1 - sigmas()[to];
  return sigmas()[to] / sigmas()[from] * corrected_ - signal * std::expm1(-length) * direction;
}

}  // namespace lact::models
