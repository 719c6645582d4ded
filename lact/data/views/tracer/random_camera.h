// Cameras that look at an object in the unit ball from all around.
#pragma once

#include <vector>

#include "lact/data/views/camera.h"

namespace lact::data::tracer {

/// Of the cameras of the usual object data sets from the object.
inline constexpr double kUsualDistance = 2.7;

/// A camera at `place` that looks at `target` with z upwards in the picture, rotated by `roll` degrees; the
/// focal length is given in units of the shorter side.
Camera camera_towards(const std::array<double, 3>& place, const std::array<double, 3>& target, double focal,
                      int64_t height, int64_t width, double roll = 0);

struct CameraRanges {
  double distance_low = 2.2, distance_high = 3.5;
  double elevation_low = -10, elevation_high = 75;  ///< degrees above the horizon
  double focal_low = 0.95, focal_high = 1.25;  ///< in units of the shorter side; one for all views of a scene
  double target_radius = 0.12;                 ///< the point looked at is that far from the origin at most
  double roll = 4;                             ///< degrees at most
};

/// Half of the scenes, by the seed, get the cameras of the usual object data sets instead: distance 2.7,
/// focal length 1.072, elevation 0 to 60 degrees, straight at the origin.
std::vector<Camera> random_cameras(uint64_t seed, int64_t count, int64_t height, int64_t width,
                                   const CameraRanges& ranges = {});

/// How far a camera that stands near another one is moved on its way around the origin, at most.
inline constexpr double kNearDegrees = 20;

/// Each camera after the first `inputs` gets, with probability `near`, a place near one of these: most of
/// them closer than half of kNearDegrees. What is seen from there is mostly seen by that input.
void bring_near(std::vector<Camera>& cameras, int64_t inputs, double near, uint64_t seed);

/// `count` cameras on a circle at the given elevation in degrees, with the usual distance and focal length.
std::vector<Camera> ring_cameras(int64_t count, double elevation, int64_t height, int64_t width);

}  // namespace lact::data::tracer
