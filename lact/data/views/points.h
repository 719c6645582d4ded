// Points of a scene that were found when its cameras were: where an optimisation of Gaussians begins.
#pragma once

#include <string>
#include <vector>

#include "lact/data/views/capture.h"
#include "lact/data/views/pose.h"

namespace lact::data {

struct ScenePoints {
  std::string source;          ///< the file
  std::vector<Point> places;   ///< in the coordinates of the capture
  std::vector<Point> colours;  ///< in [0, 1]; as many
};

/// COLMAP's points3D.bin or points3D.txt, or a .ply with x, y, z and perhaps red, green, blue.
ScenePoints read_points(const std::string& file);

/// The points that lie with a capture: points3D.{bin,txt,ply} or sparse_pc.ply beside its camera file, or in
/// sparse/0 or colmap/sparse/0 below it. Where COLMAP's cameras are there, too, and are not those of the
/// capture, its points have other coordinates: they are left out, and a warning says so. Empty where there
/// are none.
ScenePoints points_of(const Capture& capture);

}  // namespace lact::data
