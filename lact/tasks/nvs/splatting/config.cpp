#include "lact/tasks/nvs/splatting/config.h"

#include "lact/base/error.h"

namespace lact::tasks::nvs {

namespace {

void check_splat(const std::string& name, double value, double least, double most) {
  LACT_CHECK(value >= least && value <= most, "[splat] {} is {}, expected {} to {}", name, value, least,
             most);
}

void check_opacity(const std::string& name, double value) { check_splat(name, value, 1e-6, 1 - 1e-6); }

void check_refinement(const std::string& strategy, const RefinementConfig& config) {
  check_opacity(strategy + ".initial_opacity", config.initial_opacity);
  check_splat(strategy + ".initial_scale", config.initial_scale, 1e-6, 1e3);
  check_splat(strategy + ".refine_from", config.refine_from, 0, 1);
  check_splat(strategy + ".refine_until", config.refine_until, 0, 1);
  check_splat(strategy + ".refine_every", double(config.refine_every), 1, 1e9);
  check_opacity(strategy + ".least_opacity", config.least_opacity);
}

}  // namespace

void SplatConfig::check() const {
  check_splat("most", double(most), 1, 1e8);
  check_splat("degree", double(degree), 0, 3);
  check_splat("degree_until", degree_until, 0, 1);
  check_splat("dssim", dssim, 0, 1);
  check_splat("dropout", dropout, 0, 0.9);
  LACT_CHECK(background.size() == 3, "[splat] background has {} numbers, expected red, green and blue",
             background.size());
  for (const double channel : background) check_splat("background", channel, 0, 1);
  check_splat("random_points", double(random_points), 1, 1e8);
  check_splat("random_extent", random_extent, 1e-6, 1e6);
  constexpr double kLargest = 1e3;
  check_splat("rates.position", rates.position, 0, kLargest);
  check_splat("rates.position_end", rates.position_end, 0, rates.position);
  LACT_CHECK(rates.position == 0 || rates.position_end > 0,
             "[splat] rates.position_end is 0, expected more: it is reached evenly in its logarithm");
  check_splat("rates.colour", rates.colour, 0, kLargest);
  check_splat("rates.harmonics", rates.harmonics, 0, kLargest);
  check_splat("rates.opacity", rates.opacity, 0, kLargest);
  check_splat("rates.scale", rates.scale, 0, kLargest);
  check_splat("rates.rotation", rates.rotation, 0, kLargest);
  check_splat("rates.exposure", rates.exposure, 0, kLargest);
  LACT_CHECK(rates.beta1 >= 0 && rates.beta1 < 1 && rates.beta2 >= 0 && rates.beta2 < 1,
             "[splat] rates.beta1 and beta2 are {} and {}, expected 0 to below 1", rates.beta1, rates.beta2);
  check_splat("rates.epsilon", rates.epsilon, 0, 1);
  check_refinement("mcmc", mcmc);
  check_refinement("classic", classic);
  check_splat("mcmc.growth", mcmc.growth, 0, 10);
  check_splat("mcmc.noise", mcmc.noise, 0, 1e12);
  check_splat("mcmc.noise_gate", mcmc.noise_gate, 0, 1e6);
  check_splat("mcmc.opacity_penalty", mcmc.opacity_penalty, 0, 1e3);
  check_splat("mcmc.scale_penalty", mcmc.scale_penalty, 0, 1e3);
  check_splat("classic.gradient", classic.gradient, 0, 1e9);
  check_splat("classic.small", classic.small, 0, 1e9);
  check_splat("classic.shrink", classic.shrink, 1, 1e3);
  check_splat("classic.large", classic.large, 0, 1e9);
  check_splat("classic.reset_every", classic.reset_every, 0, 1);
  check_opacity("classic.reset_opacity", classic.reset_opacity);
}

}  // namespace lact::tasks::nvs
