#include "lact/ops/random/gaussian_noise.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "lact/base/random.h"

namespace lact::ops {

at::Tensor gaussian_noise(at::IntArrayRef sizes, uint64_t seed) {
  at::Tensor noise = at::empty(sizes, at::kFloat);
  auto* numbers = noise.data_ptr<float>();
  Random random(seed);
  // Box-Muller: two uniform numbers are the radius and the angle of two normal ones.
  for (int64_t i = 0; i < noise.numel(); i += 2) {
    const double radius = std::sqrt(-2 * std::log1p(-random.uniform()));
    const double angle = 2 * std::numbers::pi * random.uniform();
    numbers[i] = float(radius * std::cos(angle));
    if (i + 1 < noise.numel()) numbers[i + 1] = float(radius * std::sin(angle));
  }
  return noise;
}

}  // namespace lact::ops
