// What a lens bends, and pictures made straight again.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string>

#include "lact/data/views/camera.h"

namespace lact::data {

enum class LensModel {
  pinhole,
  /// OpenCV's and COLMAP's: with (x, y) = (X / Z, Y / Z) and q = x^2 + y^2 a point is seen at
  /// x (1 + k1 q + k2 q^2 + k3 q^3 + k4 q^4) + 2 p1 x y + p2 (q + 2 x^2), and likewise y with p1 and p2
  /// exchanged.
  radial_tangential,
  /// OpenCV's fisheye: a point at the angle t from the axis is seen at the radius
  /// t (1 + k1 t^2 + k2 t^4 + k3 t^6 + k4 t^8).
  fisheye,
};

struct Distortion {
  LensModel model = LensModel::pinhole;
  double k1 = 0, k2 = 0, k3 = 0, k4 = 0, p1 = 0, p2 = 0;

  bool none() const { return model == LensModel::pinhole; }
  bool operator==(const Distortion&) const = default;
};

/// A radial-tangential lens, or a pinhole where all numbers are zero.
Distortion radial_tangential(double k1, double k2, double k3, double k4, double p1, double p2);

/// "k1 = 0.0578, k2 = -0.0805": the numbers that are not zero.
std::string describe(const Distortion& distortion);

/// Where the lens puts the point (x, y, 1) of the camera's frame, before focal length and centre.
std::array<double, 2> distort(const Distortion& distortion, double x, double y);

/// The pinhole camera of the straightened picture: same size and centre, and the shortest focal length at
/// which no border is empty. `where` begins the sentence about a lens for which there is none.
Camera undistorted_camera(const Camera& camera, const Distortion& distortion, const std::string& where);

/// uint8 [H, W, 3 or 4] seen by `camera` through the lens -> the same shape, as `straight` sees it.
at::Tensor undistort(const at::Tensor& image, const Camera& camera, const Distortion& distortion,
                     const Camera& straight);

}  // namespace lact::data
