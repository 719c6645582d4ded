#include "lact/data/views/normalize.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"

namespace lact::data {

namespace {

/// Shorter mean axes point nowhere in particular.
constexpr double kShortestMeanAxis = 1e-3;

Point mean_column(const std::vector<Camera>& cameras, int index) {
  Point total{};
  for (const Camera& camera : cameras) total = sum(total, column(camera.camera_to_world, index));
  return scaled(total, 1 / static_cast<double>(cameras.size()));
}

Pose mean_pose(const std::vector<Camera>& cameras) {
  const Point forward = mean_column(cameras, 2), down = mean_column(cameras, 1);
  const Point right = cross(down, forward);
  Pose pose = cameras.front().camera_to_world;
  if (length(forward) > kShortestMeanAxis && length(right) > kShortestMeanAxis * length(forward)) {
    const Point z = scaled(forward, 1 / length(forward)), x = scaled(right, 1 / length(right));
    set_column(pose, 0, x);
    set_column(pose, 1, cross(z, x));
    set_column(pose, 2, z);
  }
  set_column(pose, 3, mean_column(cameras, 3));
  return pose;
}

}  // namespace

SceneFrame mean_pose_frame(const std::vector<Camera>& cameras) {
  LACT_CHECK(!cameras.empty(), "a scene without cameras has no frame");
  SceneFrame frame;
  frame.world_to_scene = inverse(mean_pose(cameras));
  double extent = 0;
  for (const Camera& camera : cameras) {
    const Point position = column(multiply(frame.world_to_scene, camera.camera_to_world), 3);
    for (const double coordinate : position) extent = std::max(extent, std::abs(coordinate));
  }
  // A single camera is at its mean up to rounding.
  const double rounding = 1e-9 * (1 + length(column(frame.world_to_scene, 3)));
  if (extent > rounding) frame.scale = 1 / extent;
  return frame;
}

Camera to_scene(const SceneFrame& frame, const Camera& camera) {
  Camera result = camera;
  result.camera_to_world = multiply(frame.world_to_scene, camera.camera_to_world);
  set_column(result.camera_to_world, 3, scaled(column(result.camera_to_world, 3), frame.scale));
  return result;
}

std::vector<Camera> to_scene(const SceneFrame& frame, const std::vector<Camera>& cameras) {
  std::vector<Camera> result;
  for (const Camera& camera : cameras) result.push_back(to_scene(frame, camera));
  return result;
}

Camera to_world(const SceneFrame& frame, const Camera& camera) {
  Camera result = camera;
  set_column(result.camera_to_world, 3, scaled(column(camera.camera_to_world, 3), 1 / frame.scale));
  result.camera_to_world = multiply(inverse(frame.world_to_scene), result.camera_to_world);
  return result;
}

}  // namespace lact::data
