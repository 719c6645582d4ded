// UniPC (Zhao et al. 2023), the multistep predictor-corrector of order 2 with which Wan is sampled: in the
// logarithm of the signal-to-noise ratio, on predictions of the clean sample, with B(h) = e^h - 1 ("bh2").
// Each step first corrects the sample it is given with the velocity there, which costs no evaluation. The
// first and the last step are of order 1.
#pragma once

#include <deque>

#include "lact/models/video/solver.h"

namespace lact::models {

/// The levels of Wan's pipeline, which shifts twice: evenly from shift(0.999) to 0, then shifted.
std::vector<double> unipc_sigmas(int64_t steps, double shift);

class UniPcSolver : public Solver {
 public:
  /// All levels but the last are inside (0, 1).
  explicit UniPcSolver(std::vector<double> sigmas);

  /// Of the last step: what the velocity says of the clean sample, and the order of the prediction.
  const at::Tensor& clean_prediction() const { return clean_.back(); }
  int64_t order() const { return order_; }

 protected:
  at::Tensor take_step(const at::Tensor& velocity, const at::Tensor& sample) override;
  /// Whole numbers, as in Wan's pipeline.
  double timestep_of(double sigma) const override;

 private:
  at::Tensor correct(const at::Tensor& clean) const;
  at::Tensor predict() const;

  /// log((1 - sigma) / sigma)
  std::vector<double> log_ratio_;
  std::deque<at::Tensor> clean_;  // predictions of the last two steps, the newest last
  at::Tensor corrected_;          // the sample of the last step
  int64_t order_ = 0;
};

}  // namespace lact::models
