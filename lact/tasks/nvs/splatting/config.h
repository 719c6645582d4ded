// How Gaussians are optimised for one scene. Times are shares of the run, so that a run of minutes and one of
// 30,000 iterations follow the same course.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace lact::tasks::nvs {

enum class SplatStrategy { mcmc, classic };
constexpr std::array<std::pair<SplatStrategy, std::string_view>, 2> enum_names(SplatStrategy) {
  return {{{SplatStrategy::mcmc, "mcmc"}, {SplatStrategy::classic, "classic"}}};
}

/// Of Adam. Positions move in units of the scene: the cameras' extent.
struct SplatRates {
  double position = 1.6e-4, position_end = 1.6e-6;
  double colour = 2.5e-3, harmonics = 1.25e-4;
  double opacity = 0.05, scale = 5e-3, rotation = 1e-3;
  double exposure = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-15;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("position", position, "of positions, times the extent of the cameras");
    field("position_end", position_end, "the same at the end; in between it falls evenly in its logarithm");
    field("colour", colour, "of the constant part of colours");
    field("harmonics", harmonics, "of the part of colours that depends on the direction");
    field("opacity", opacity, "of opacities");
    field("scale", scale, "of logarithms of sizes");
    field("rotation", rotation, "of rotations");
    field("exposure", exposure,
          "of each photo's own exposure and white balance; 0: all photos have the same");
    field("beta1", beta1, "decay of the mean of gradients");
    field("beta2", beta2, "decay of the mean of squared gradients");
    field("epsilon", epsilon, "added to the root of the mean square");
  }
};

/// What both strategies have: how points become Gaussians, and when these are added, moved and removed.
struct RefinementConfig {
  double initial_opacity = 0.5, initial_scale = 0.1;
  double refine_from = 0.015, refine_until = 0.83;
  int64_t refine_every = 100;
  double least_opacity = 0.005;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("initial_opacity", initial_opacity, "of a point");
    field("initial_scale", initial_scale, "size of a point, as a share of the distance to its neighbours");
    field("refine_from", refine_from,
          "share of the run after which Gaussians are added and moved or removed");
    field("refine_until", refine_until, "share of the run until which they are");
    field("refine_every", refine_every, "steps in between");
    field("least_opacity", least_opacity, "a Gaussian below it goes, or is put where another one is");
  }
};

/// 3D Gaussian splatting as Markov chain Monte Carlo (Kheradmand et al. 2024): a fixed number of Gaussians,
/// of which those that died are put where others are.
struct McmcConfig : RefinementConfig {
  double growth = 0.05;
  double noise = 5e5, noise_gate = 100;
  double opacity_penalty = 0.01, scale_penalty = 0.01;

  template <class Visitor>
  void visit(Visitor&& field) {
    RefinementConfig::visit(field);
    field("growth", growth, "share of Gaussians that are added each time, until there are enough");
    field("noise", noise, "strength of the random steps of positions");
    field("noise_gate", noise_gate, "how sharply they end above the least opacity");
    field("opacity_penalty", opacity_penalty, "weight of the mean opacity in the loss");
    field("scale_penalty", scale_penalty, "weight of the mean size, in extents, in the loss");
  }
};

/// The original densification (Kerbl et al. 2023): Gaussians whose place in the picture pulls are doubled or
/// split; faint and large ones go.
struct ClassicConfig : RefinementConfig {
  ClassicConfig() : RefinementConfig{.initial_opacity = 0.1, .initial_scale = 1, .refine_until = 0.5} {}

  double gradient = 2e-4;
  double small = 0.01, shrink = 1.6;
  double large = 0.1;
  double reset_every = 0.1, reset_opacity = 0.01;

  template <class Visitor>
  void visit(Visitor&& field) {
    RefinementConfig::visit(field);
    field("gradient", gradient,
          "mean gradient of a place in the picture, in half pictures, from which on a Gaussian is doubled or "
          "split");
    field("small", small, "size, in extents, up to which it is doubled instead of split");
    field("shrink", shrink, "the halves of a split Gaussian are so much smaller");
    field("large", large,
          "after the first reset of opacities, a Gaussian larger than that, in extents, goes");
    field("reset_every", reset_every, "share of the run between resets of opacities; 0: none");
    field("reset_opacity", reset_opacity, "highest opacity after a reset");
  }
};

struct SplatConfig {
  SplatStrategy strategy = SplatStrategy::mcmc;
  int64_t most = 60'000;
  int64_t degree = 3;
  double degree_until = 0.1;
  double dssim = 0.2;
  double dropout = 0;
  std::vector<double> background = {1, 1, 1};
  int64_t random_points = 20'000;
  double random_extent = 0.4;
  SplatRates rates;
  McmcConfig mcmc;
  ClassicConfig classic;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("strategy", strategy, "mcmc, a fixed budget, or classic, the original densification and pruning");
    field("most", most, "Gaussians, at most");
    field("degree", degree, "of the spherical harmonics of colours, 0 to 3");
    field("degree_until", degree_until,
          "share of the run after which all degrees are used; they are added one by one");
    field("dssim", dssim, "share of 1 - SSIM in the loss; the rest is the absolute difference");
    field("dropout", dropout,
          "share of Gaussians that a step leaves out at the end of the run, growing from none: where photos "
          "are "
          "few, the others have to do their work");
    field("background", background, "colour behind the Gaussians: red, green, blue");
    field("random_points", random_points, "points to begin with where the capture has none");
    field("random_extent", random_extent,
          "half the side of the cube that they lie in, as a share of the cameras' distance to what they look "
          "at");
    field("rates", rates, "learning rates");
    field("mcmc", mcmc, "the fixed-budget strategy");
    field("classic", classic, "the original strategy");
  }

  const RefinementConfig& refinement() const {
    if (strategy == SplatStrategy::mcmc) return mcmc;
    return classic;
  }
  std::array<double, 3> background_colour() const { return {background[0], background[1], background[2]}; }

  /// Throws one sentence for values that cannot work.
  void check() const;
};

}  // namespace lact::tasks::nvs
