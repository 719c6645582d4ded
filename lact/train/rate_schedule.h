// The learning rate: rises linearly, then falls along a cosine to a floor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace lact::train {

struct RateSchedule {
  double peak = 1e-3;
  double floor = 0.1;  ///< last rate / peak
  int64_t warmup = 0;  ///< steps until the peak
  int64_t steps = 1;

  /// Of step 0, 1, ... steps - 1.
  double at(int64_t step) const {
    if (step < warmup) return peak * double(step + 1) / double(warmup);
    const double done = double(step - warmup) / double(std::max<int64_t>(1, steps - warmup));
    const double fall = 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, done)));
    return peak * (floor + (1 - floor) * fall);
  }
};

}  // namespace lact::train
