// Normal random numbers for every Gaussian, whichever thread asks.
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "lact/base/random.h"

namespace lact::tasks::nvs {

/// Three independent ones, of `seed` and the number of the Gaussian.
inline std::array<double, 3> normal_numbers(uint64_t seed, int64_t number) {
  Random random(mix(seed, uint64_t(number)));
  const auto pair = [&] {
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    const double angle = 2 * std::numbers::pi * random.uniform();
    return std::array<double, 2>{radius * std::cos(angle), radius * std::sin(angle)};
  };
  const auto a = pair(), b = pair();
  return {a[0], a[1], b[0]};
}

}  // namespace lact::tasks::nvs
