#include "lact/data/views/camera_path.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lact/base/error.h"

namespace lact::data {

namespace {

constexpr double kDegree = std::numbers::pi / 180;

Point unit_length(const Point& a) { return scaled(a, 1 / length(a)); }

/// A right-handed frame whose third axis is `up`; the first two are x and y where up is z.
std::array<Point, 3> frame_of_up(const Point& up) {
  LACT_CHECK(std::isfinite(length(up)) && length(up) > 0,
             "the upward direction is {}, expected one of length > 0", up);
  const Point z = unit_length(up);
  const Point helper = std::abs(z[1]) < 0.9 ? Point{0, 1, 0} : Point{0, 0, 1};
  const Point x = unit_length(cross(helper, z));
  return {x, cross(z, x), z};
}

/// The point with the least sum of squared distances to the lines of sight, which is where the matrix
/// sum(1 - d d^T) sends it to sum((1 - d d^T) position). Lines that are nearly parallel leave the depth
/// open; a small pull to the mean position keeps it in front of the cameras.
Point nearest_to_lines_of_sight(const std::vector<Camera>& cameras, const Point& mean_position) {
  Pose matrix = identity_pose();
  Point right_side{};
  constexpr double kPull = 1e-3;
  for (int i = 0; i < 3; ++i) matrix[i][i] = kPull;
  for (const Camera& camera : cameras) {
    const Point direction = unit_length(column(camera.camera_to_world, 2));
    const Point position = difference(column(camera.camera_to_world, 3), mean_position);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const double share = ((i == j) - direction[i] * direction[j]) / static_cast<double>(cameras.size());
        matrix[i][j] += share;
        right_side[i] += share * position[j];
      }
    }
  }
  const Pose solver = inverse(matrix);
  // Each round pulls to where the last one ended, so that the pull vanishes where lines do meet.
  constexpr int kRounds = 4;
  Point offset{};
  for (int round = 0; round < kRounds; ++round) {
    const Point pulled = sum(right_side, scaled(offset, kPull));
    for (int i = 0; i < 3; ++i) {
      offset[i] = 0;
      for (int j = 0; j < 3; ++j) offset[i] += solver[i][j] * pulled[j];
    }
  }
  return sum(mean_position, offset);
}

double between(double first, double second, double share) { return first + (second - first) * share; }

/// Forward is kept, down is made orthogonal to it.
void make_rigid(Pose& pose) {
  const Point z = unit_length(column(pose, 2));
  const Point x = unit_length(cross(column(pose, 1), z));
  set_column(pose, 0, x);
  set_column(pose, 1, cross(z, x));
  set_column(pose, 2, z);
}

Camera camera_between(const Camera& first, const Camera& second, double share) {
  Camera camera = first;
  camera.fx = between(first.fx, second.fx, share);
  camera.fy = between(first.fy, second.fy, share);
  camera.cx = between(first.cx, second.cx, share);
  camera.cy = between(first.cy, second.cy, share);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      camera.camera_to_world[i][j] =
          between(first.camera_to_world[i][j], second.camera_to_world[i][j], share);
  return camera;
}

}  // namespace

std::vector<Camera> turntable_cameras(const Turntable& turntable) {
  const int64_t count = turntable.num_views;
  LACT_CHECK(count >= 1, "a turntable has {} views, expected at least 1", count);
  LACT_CHECK(turntable.horizontal_view > 0 && turntable.horizontal_view < 180,
             "the field of view is {} degrees, expected a number between 0 and 180",
             turntable.horizontal_view);
  LACT_CHECK(turntable.min_radius > 0 && turntable.max_radius >= turntable.min_radius &&
                 std::isfinite(turntable.max_radius),
             "the distances of a turntable are {} to {}, expected 0 < nearest <= farthest",
             turntable.min_radius, turntable.max_radius);
  const auto [x, y, z] = frame_of_up(turntable.up);
  Camera camera;
  camera.width = turntable.width;
  camera.height = turntable.height;
  camera.cx = static_cast<double>(turntable.width) / 2;
  camera.cy = static_cast<double>(turntable.height) / 2;
  camera.fx = camera.fy = camera.cx / std::tan(turntable.horizontal_view * kDegree / 2);
  std::vector<Camera> cameras;
  for (int64_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count);
    const double swing = std::sin(
        count > 1 ? 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(count - 1) : 0);
    const double azimuth = 2 * std::numbers::pi * share;
    const double elevation = (turntable.elevation + turntable.swing * swing) * kDegree;
    const double radius = (turntable.min_radius + turntable.max_radius) / 2 +
                          (turntable.max_radius - turntable.min_radius) / 2 * swing;
    const Point flat = sum(scaled(x, std::cos(azimuth)), scaled(y, std::sin(azimuth)));
    const Point outward = sum(scaled(flat, std::cos(elevation)), scaled(z, std::sin(elevation)));
    const Point position = sum(turntable.center, scaled(outward, radius));
    camera.camera_to_world = look_at(position, turntable.center, turntable.up);
    cameras.push_back(camera);
  }
  return cameras;
}

Turntable turntable_around(const std::vector<Camera>& cameras) {
  LACT_CHECK(!cameras.empty(), "a turntable around a scene needs at least one camera");
  const auto count = static_cast<double>(cameras.size());
  Turntable result;
  Point up{}, mean_position{}, mean_forward{};
  double tangent = 0;
  for (const Camera& camera : cameras) {
    up = difference(up, column(camera.camera_to_world, 1));
    mean_forward = sum(mean_forward, column(camera.camera_to_world, 2));
    mean_position = sum(mean_position, scaled(column(camera.camera_to_world, 3), 1 / count));
    tangent += static_cast<double>(camera.width) / (2 * camera.fx) / count;
  }
  // Cameras that stand in all directions up and down, or in none, leave the upward direction at the default.
  if (length(up) > 1e-3 * count) result.up = unit_length(up);
  result.center = nearest_to_lines_of_sight(cameras, mean_position);
  result.horizontal_view = 2 * std::atan(tangent) / kDegree;
  double radius = 0, elevation = 0;
  for (const Camera& camera : cameras) {
    const Point outward = difference(column(camera.camera_to_world, 3), result.center);
    const double distance = length(outward);
    radius += distance / count;
    if (distance > 0)
      elevation += std::asin(std::clamp(dot(outward, result.up) / distance, -1.0, 1.0)) / kDegree / count;
  }
  // One camera, or parallel ones: any point ahead would do.
  if (!(radius > 1e-6)) {
    radius = 1;
    const Point ahead = length(mean_forward) > 0 ? unit_length(mean_forward) : Point{0, 0, 1};
    result.center = sum(mean_position, ahead);
    elevation = std::asin(std::clamp(-dot(ahead, result.up), -1.0, 1.0)) / kDegree;
  }
  result.min_radius = result.max_radius = radius;
  result.swing = 0;
  result.elevation = std::clamp(elevation, -85.0, 85.0);  // straight down there is no upward direction
  return result;
}

std::vector<Camera> turntable_cameras_around(const std::vector<Camera>& cameras, int64_t num_views) {
  Turntable turntable = turntable_around(cameras);
  turntable.num_views = num_views;
  turntable.width = cameras.front().width;
  turntable.height = cameras.front().height;
  return turntable_cameras(turntable);
}

bool look_from_all_sides(const std::vector<Camera>& cameras) {
  // The mean of level directions is short where they go everywhere; half around it is 2 / pi.
  constexpr double kLongestMean = 0.4;
  const Point up = turntable_around(cameras).up;
  Point total{};
  for (const Camera& camera : cameras) {
    const Point forward = column(camera.camera_to_world, 2);
    total = sum(total, difference(forward, scaled(up, dot(forward, up))));
  }
  return length(total) < kLongestMean * static_cast<double>(cameras.size());
}

std::vector<Camera> interpolate_cameras(const std::vector<Camera>& cameras, int64_t num_between,
                                        Interpolation interpolation) {
  LACT_CHECK(!cameras.empty(), "there are no cameras to go between");
  LACT_CHECK(num_between >= 0, "{} cameras between each two were asked for, expected 0 or more", num_between);
  std::vector<Camera> path;
  for (size_t i = 0; i + 1 < cameras.size(); ++i) {
    const Camera &first = cameras[i], &second = cameras[i + 1];
    LACT_CHECK(first.width == second.width && first.height == second.height,
               "cameras {} and {} are for {} x {} and {} x {} pixels, expected one size", i, i + 1,
               first.width, first.height, second.width, second.height);
    path.push_back(first);
    for (int64_t k = 1; k <= num_between; ++k) {
      Camera camera =
          camera_between(first, second, static_cast<double>(k) / static_cast<double>(num_between + 1));
      if (interpolation == Interpolation::rigid) make_rigid(camera.camera_to_world);
      path.push_back(camera);
    }
  }
  path.push_back(cameras.back());
  return path;
}

}  // namespace lact::data
