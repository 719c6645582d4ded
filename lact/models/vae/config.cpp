#include "lact/models/vae/config.h"

#include <functional>
#include <numeric>

#include "lact/base/error.h"
#include "lact/models/common/config_checks.h"

namespace lact::models {

namespace {

constexpr int64_t kMostStages = 8;

void check_scale(const std::string& name, const std::vector<double>& values, int64_t channels) {
  LACT_CHECK(values.empty() || int64_t(values.size()) == channels,
             "[config] {} has {} numbers, expected none or one for each of the {} latent channels", name,
             values.size(), channels);
}

}  // namespace

std::vector<int64_t> VaeConfig::channels() const {
  std::vector<int64_t> result;
  for (const int64_t multiple : channel_multiples) result.push_back(multiple * base_channels);
  return result;
}

int64_t VaeConfig::spatial() const { return int64_t(1) << (stages() - 1); }

int64_t VaeConfig::temporal() const {
  return std::accumulate(time_strides.begin(), time_strides.end(), int64_t(1), std::multiplies<>());
}

void VaeConfig::check() const {
  check_size("base_channels", base_channels);
  check_size("latent_channels", latent_channels);
  check_size("residual_blocks", residual_blocks, kMostLayers);
  LACT_CHECK(stages() >= 1 && stages() <= kMostStages,
             "[config] channel_multiples has {} numbers, expected 1 to {}", stages(), kMostStages);
  for (int64_t i = 0; i < stages(); ++i) {
    const int64_t multiple = channel_multiples[size_t(i)];
    check_size("channel_multiples." + std::to_string(i), multiple, 1 << 10);
    const int64_t width = multiple * base_channels;
    check_size("base_channels times channel_multiples." + std::to_string(i), width);
    LACT_CHECK(i == 0 || width % 2 == 0,
               "[config] channel_multiples.{} gives {} channels, expected an even number: the decoder halves "
               "them on the way up",
               i, width);
  }
  LACT_CHECK(int64_t(time_strides.size()) == stages() - 1,
             "[config] time_strides has {} numbers, expected {}: one for each step between resolutions",
             time_strides.size(), stages() - 1);
  for (size_t i = 0; i < time_strides.size(); ++i)
    check_size("time_strides." + std::to_string(i), time_strides[i], 2);
  check_scale("latent_mean", latent_mean, latent_channels);
  check_scale("latent_std", latent_std, latent_channels);
  for (size_t i = 0; i < latent_std.size(); ++i)
    check_positive("latent_std." + std::to_string(i), latent_std[i]);
}

VaeConfig vae_wan() {
  VaeConfig config;
  config.latent_mean = {-0.7571, -0.7089, -0.9113, 0.1075,  -0.1745, 0.9653,  -0.1517, 1.5508,
                        0.4134,  -0.0715, 0.5517,  -0.3632, -0.1922, -0.9497, 0.2503,  -0.2921};
  config.latent_std = {2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743,
                       3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160};
  return config;
}

VaeConfig vae_small() {
  VaeConfig config;
  config.base_channels = 16;
  config.channel_multiples = {1, 2, 4, 4};
  config.residual_blocks = 1;
  return config;
}

VaeConfig vae_tiny() {
  VaeConfig config;
  config.base_channels = 8;
  config.latent_channels = 8;
  config.channel_multiples = {1, 2, 4};
  config.residual_blocks = 1;
  config.time_strides = {1, 2};
  return config;
}

}  // namespace lact::models
