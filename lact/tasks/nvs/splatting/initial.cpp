#include "lact/tasks/nvs/splatting/initial.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "lact/base/random.h"
#include "lact/data/views/camera_path.h"
#include "lact/tasks/nvs/splatting/nearest.h"
#include "lact/tasks/nvs/splatting/shape.h"

namespace lact::tasks::nvs {

namespace {

constexpr double kConstantHarmonic = 0.28209479177387814;  // Y₀
constexpr double kLeastDistance = 1e-7;

/// Every so many-th of shuffled points, in their order.
void keep_some(data::ScenePoints& points, int64_t most, int64_t seed) {
  if (int64_t(points.places.size()) <= most) return;
  std::vector<size_t> order(points.places.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  Random random(mix(uint64_t(seed), 0x5e1ec7));
  random.shuffle(order);
  order.resize(size_t(most));
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    points.places[i] = points.places[order[i]];
    points.colours[i] = points.colours[order[i]];
  }
  points.places.resize(order.size());
  points.colours.resize(order.size());
}

}  // namespace

double extent_of(const std::vector<data::Camera>& cameras) {
  data::Point middle{};
  for (const data::Camera& camera : cameras)
    middle =
        data::sum(middle, data::scaled(data::column(camera.camera_to_world, 3), 1 / double(cameras.size())));
  double farthest = 0;
  for (const data::Camera& camera : cameras)
    farthest =
        std::max(farthest, data::length(data::difference(data::column(camera.camera_to_world, 3), middle)));
  return farthest > 0 ? 1.1 * farthest : 1;
}

data::ScenePoints random_points(const std::vector<data::Camera>& cameras, const SplatConfig& config,
                                int64_t seed) {
  const data::Turntable around = data::turntable_around(cameras);
  const double distance = (around.min_radius + around.max_radius) / 2;
  Random random(mix(uint64_t(seed), 0x90175));
  data::ScenePoints points;
  const auto within = [&](double half) { return half * (2 * random.uniform() - 1); };
  for (int64_t i = 0; i < std::min(config.random_points, config.most); ++i) {
    data::Point place = around.center;
    for (double& value : place) value += within(config.random_extent * distance);
    points.places.push_back(place);
    points.colours.push_back({random.uniform(), random.uniform(), random.uniform()});
  }
  return points;
}

ops::Gaussians initial_gaussians(data::ScenePoints points, const SplatConfig& config, int64_t seed) {
  keep_some(points, config.most, seed);
  const auto count = int64_t(points.places.size());
  const std::vector<double> distances = neighbour_distances(points.places);
  const int64_t coefficients = (config.degree + 1) * (config.degree + 1);
  ops::Gaussians gaussians = {at::empty({count, 3}), at::zeros({count, 4}), at::empty({count, 3}),
                              at::full({count}, opacity_logit(config.refinement().initial_opacity)),
                              at::zeros({count, coefficients, 3})};
  gaussians.quaternions.select(1, 0).fill_(1);
  auto means = gaussians.means.accessor<float, 2>(), scales = gaussians.log_scales.accessor<float, 2>();
  auto harmonics = gaussians.harmonics.accessor<float, 3>();
  for (int64_t i = 0; i < count; ++i) {
    const double size = std::max(kLeastDistance, config.refinement().initial_scale * distances[size_t(i)]);
    for (int64_t axis = 0; axis < 3; ++axis) {
      means[i][axis] = float(points.places[size_t(i)][size_t(axis)]);
      scales[i][axis] = float(std::log(size));
      harmonics[i][0][axis] = float((points.colours[size_t(i)][size_t(axis)] - 0.5) / kConstantHarmonic);
    }
  }
  return gaussians;
}

}  // namespace lact::tasks::nvs
