// Places and directions of cameras: 4 x 4 matrices with rows as the outer index, the last row 0 0 0 1.
#pragma once

#include <array>
#include <string>

namespace lact::data {

using Pose = std::array<std::array<double, 4>, 4>;
using Point = std::array<double, 3>;

Pose identity_pose();
Pose multiply(const Pose& a, const Pose& b);

/// Of any invertible affine matrix.
Pose inverse(const Pose& pose);

/// The columns of a camera's matrix: axes 0, 1, 2 and the position 3.
Point column(const Pose& pose, int index);
void set_column(Pose& pose, int index, const Point& value);

double dot(const Point& a, const Point& b);
double length(const Point& a);
Point cross(const Point& a, const Point& b);
Point scaled(const Point& a, double factor);
Point sum(const Point& a, const Point& b);
Point difference(const Point& a, const Point& b);

/// Throws a sentence that begins with `where` unless the matrix is finite, turns without stretching or
/// mirroring (to 1 %), has the last row 0 0 0 1 and a position whose numbers float32 can work with.
void check_pose(const Pose& pose, const std::string& where);

/// OpenCV's axes (x right, y down, z forward) at `position`, looking at `target` with `up` upwards.
Pose look_at(const Point& position, const Point& target, const Point& up);

/// OpenGL's camera axes (y up, z backward) to OpenCV's (y down, z forward) and back.
Pose with_y_and_z_flipped(const Pose& camera_to_world);

}  // namespace lact::data
