// The window that structural similarity looks through, and its constants for images in [0, 1].
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace lact::ops {

inline constexpr int64_t kSsimWindow = 11;
inline constexpr double kSsimSigma = 1.5, kSsimC1 = 0.01 * 0.01, kSsimC2 = 0.03 * 0.03;

/// A row of the Gaussian window; its sum is 1.
inline std::array<double, kSsimWindow> ssim_weights() {
  std::array<double, kSsimWindow> weights{};
  double sum = 0;
  for (int64_t i = 0; i < kSsimWindow; ++i) {
    const auto offset = double(i - kSsimWindow / 2);
    sum += weights[size_t(i)] = std::exp(-offset * offset / (2 * kSsimSigma * kSsimSigma));
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace lact::ops
