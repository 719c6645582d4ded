// The learning rate: rises linearly, then falls to a floor along a cosine or a line, or stays.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <utility>

namespace lact::train {

enum class RateDecay { cosine, linear, constant };
constexpr std::array<std::pair<RateDecay, std::string_view>, 3> enum_names(RateDecay) {
  return {{{RateDecay::cosine, "cosine"}, {RateDecay::linear, "linear"}, {RateDecay::constant, "constant"}}};
}

struct RateSchedule {
  double peak = 1e-3;
  double floor = 0.1;  ///< rate after the last step / peak; without effect if the rate stays
  int64_t warmup = 0;  ///< steps until the peak
  int64_t steps = 1;
  RateDecay decay = RateDecay::cosine;

  /// Of step 0, 1, ... steps - 1.
  double at(int64_t step) const {
    return at(step, double(step - warmup) / double(std::max<int64_t>(1, steps - warmup)));
  }

  /// Where a clock says how much of the run is done, 0 to 1.
  double at(int64_t step, double done) const {
    if (step < warmup) return peak * double(step + 1) / double(warmup);
    return peak * (floor + (1 - floor) * share_left(std::min(1.0, done)));
  }

 private:
  /// 1 at the peak, 0 at the floor.
  double share_left(double done) const {
    switch (decay) {
      case RateDecay::cosine:
        return 0.5 * (1 + std::cos(std::numbers::pi * done));
      case RateDecay::linear:
        return 1 - done;
      case RateDecay::constant:
        return 1;
    }
    return 1;
  }
};

}  // namespace lact::train
