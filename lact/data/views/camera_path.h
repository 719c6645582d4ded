// Cameras along a path: around an object, or from view to view.
#pragma once

#include <cstdint>
#include <vector>

#include "lact/data/views/camera.h"
#include "lact/data/views/pose.h"

namespace lact::data {

/// The defaults are the authors': an object in the unit ball, z upwards.
struct Turntable {
  int64_t num_views = 120;
  int64_t width = 256, height = 256;
  double horizontal_view = 50;              ///< degrees from the left to the right border
  double min_radius = 1.7, max_radius = 3;  ///< the distance swings between them once around
  double elevation = 30, swing = 15;        ///< degrees above the plane, and how far it swings
  Point center = {0, 0, 0};
  Point up = {0, 0, 1};
};

/// Once around. Azimuths are evenly spaced without coming back to the first; distance and elevation swing by
/// a sine that does come back to its start with the last view, as in the authors' code.
std::vector<Camera> turntable_cameras(const Turntable& turntable);

/// A turntable for the scene that these cameras look at: around the point nearest to all their lines of
/// sight, at their mean distance and elevation, with their field of view, and upwards as they stand. Size and
/// number of views are left at the defaults.
Turntable turntable_around(const std::vector<Camera>& cameras);

/// That turntable, in the size of the first camera.
std::vector<Camera> turntable_cameras_around(const std::vector<Camera>& cameras, int64_t num_views);

/// Whether the cameras look from all sides, as around an object: then a turntable shows what they saw.
bool look_from_all_sides(const std::vector<Camera>& cameras);

enum class Interpolation {
  linear,  ///< of every number, as in the authors' code: rotations get sheared a little between far views
  rigid,   ///< the same with the axes made orthogonal again
};

/// The given cameras with `num_between` cameras between each two of them. All have one size.
std::vector<Camera> interpolate_cameras(const std::vector<Camera>& cameras, int64_t num_between,
                                        Interpolation interpolation = Interpolation::rigid);

}  // namespace lact::data
