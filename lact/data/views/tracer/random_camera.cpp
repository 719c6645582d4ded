#include "lact/data/views/tracer/random_camera.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lact/base/error.h"
#include "lact/base/random.h"
#include "lact/data/views/pose.h"

namespace lact::data::tracer {

namespace {

constexpr double kUsualFocal = 1.072;
constexpr double kDegree = std::numbers::pi / 180;

std::array<double, 3> on_sphere(double distance, double elevation, double azimuth) {
  return {distance * std::cos(elevation * kDegree) * std::cos(azimuth * kDegree),
          distance * std::cos(elevation * kDegree) * std::sin(azimuth * kDegree),
          distance * std::sin(elevation * kDegree)};
}

}  // namespace

Camera camera_towards(const std::array<double, 3>& place, const std::array<double, 3>& target, double focal,
                      int64_t height, int64_t width, double roll) {
  const Pose level = look_at(place, target, {0, 0, 1});
  const Point right = column(level, 0), down = column(level, 1);
  const double turn_cos = std::cos(roll * kDegree), turn_sin = std::sin(roll * kDegree);
  Camera camera;
  camera.width = width;
  camera.height = height;
  camera.fx = camera.fy = focal * static_cast<double>(std::min(width, height));
  camera.cx = static_cast<double>(width) / 2;
  camera.cy = static_cast<double>(height) / 2;
  camera.camera_to_world = level;
  for (size_t row = 0; row < 3; ++row) {
    camera.camera_to_world[row][0] = right[row] * turn_cos + down[row] * turn_sin;
    camera.camera_to_world[row][1] = down[row] * turn_cos - right[row] * turn_sin;
  }
  return camera;
}

std::vector<Camera> random_cameras(uint64_t seed, int64_t count, int64_t height, int64_t width,
                                   const CameraRanges& ranges) {
  Random random(seed);
  const auto between = [&](double low, double high) { return low + (high - low) * random.uniform(); };
  const bool usual = random.uniform() < 0.5;
  const double focal = usual ? kUsualFocal : between(ranges.focal_low, ranges.focal_high);
  std::vector<Camera> cameras;
  for (int64_t i = 0; i < count; ++i) {
    const double azimuth = between(0, 360);
    if (usual) {
      const double elevation = between(0, 60);
      cameras.push_back(
          camera_towards(on_sphere(kUsualDistance, elevation, azimuth), {0, 0, 0}, focal, height, width));
      continue;
    }
    const double elevation = between(ranges.elevation_low, ranges.elevation_high);
    const double distance = between(ranges.distance_low, ranges.distance_high);
    const double roll = between(-ranges.roll, ranges.roll);
    const double side = ranges.target_radius / std::sqrt(3.0);
    const std::array<double, 3> target = {between(-side, side), between(-side, side), between(-side, side)};
    cameras.push_back(
        camera_towards(on_sphere(distance, elevation, azimuth), target, focal, height, width, roll));
  }
  return cameras;
}

namespace {

/// Turned around an axis through the origin: v cos + (axis × v) sin + axis (axis · v) (1 - cos).
Camera turned_around_origin(Camera camera, const Point& axis, double degrees) {
  const double turn_cos = std::cos(degrees * kDegree), turn_sin = std::sin(degrees * kDegree);
  for (int index = 0; index < 4; ++index) {
    const Point from = column(camera.camera_to_world, index);
    const Point rotated = sum(sum(scaled(from, turn_cos), scaled(data::cross(axis, from), turn_sin)),
                              scaled(axis, data::dot(axis, from) * (1 - turn_cos)));
    set_column(camera.camera_to_world, index, rotated);
  }
  return camera;
}

}  // namespace

void bring_near(std::vector<Camera>& cameras, int64_t inputs, double near, uint64_t seed) {
  LACT_CHECK(near >= 0 && near <= 1, "[bring_near] a share of {} is asked for, expected 0 to 1", near);
  if (near == 0) return;
  LACT_CHECK(inputs >= 1 && inputs <= int64_t(cameras.size()),
             "[bring_near] {} of {} cameras are inputs, expected at least one", inputs, cameras.size());
  Random random(seed);
  for (size_t i = size_t(inputs); i < cameras.size(); ++i) {
    const bool moves = random.uniform() < near;
    const Camera& from = cameras[size_t(random.below(inputs))];
    // An axis across the line of sight: around the origin without a roll.
    const double around = 2 * std::numbers::pi * random.uniform(), part = random.uniform();
    const Point axis = sum(scaled(column(from.camera_to_world, 0), std::cos(around)),
                           scaled(column(from.camera_to_world, 1), std::sin(around)));
    if (moves) cameras[i] = turned_around_origin(from, axis, kNearDegrees * part * part);
  }
}

std::vector<Camera> ring_cameras(int64_t count, double elevation, int64_t height, int64_t width) {
  std::vector<Camera> cameras;
  for (int64_t i = 0; i < count; ++i) {
    const double azimuth = 360.0 * static_cast<double>(i) / static_cast<double>(count);
    cameras.push_back(
        camera_towards(on_sphere(kUsualDistance, elevation, azimuth), {0, 0, 0}, kUsualFocal, height, width));
  }
  return cameras;
}

}  // namespace lact::data::tracer
