// A table of noise levels from noise to clean, as the published scheduler of flow matching makes it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lact::models {

struct SigmaTableOptions {
  int64_t steps = 1000;
  double shift = 3;
  double first = 1;
  double last = 0.003 / 1.002;
  bool leave_out_last = true;  ///< steps + 1 levels of which the last is not in the table
};

class SigmaTable {
 public:
  explicit SigmaTable(const SigmaTableOptions& options);

  /// [steps], float64, falling.
  const at::Tensor& sigmas() const { return sigmas_; }

  /// 1000 × sigmas
  at::Tensor timesteps() const;

  /// The row whose timestep is nearest to each of these.
  at::Tensor nearest(const at::Tensor& timesteps) const;

  /// Levels of rows; of the row after the last one: 0.
  at::Tensor sigma(const at::Tensor& rows) const;

  /// A bell over the timesteps, 0 at its lowest and with mean 1: loss weights of an older recipe.
  at::Tensor bell_weights() const;

 private:
  at::Tensor sigmas_;
};

}  // namespace lact::models
