// The frame of a scene in which models see it: the mean camera at the origin, all cameras within [-1, 1].
#pragma once

#include <vector>

#include "lact/data/views/camera.h"
#include "lact/data/views/pose.h"

namespace lact::data {

/// A point of the world goes to scale * (world_to_scene * point). Kept with a scene, it brings cameras that
/// are given in the world's coordinates (a path to render along) to where the model knows the scene.
struct SceneFrame {
  Pose world_to_scene = identity_pose();
  double scale = 1;
};

/// The inverse of the mean pose (mean position, forward and down axes, made orthogonal), and 1 / the largest
/// coordinate of a camera after it. Where the mean axes vanish or coincide, as for a full ring of views, the
/// axes are those of the first camera. The scale is 1 where all cameras stand in one place.
SceneFrame mean_pose_frame(const std::vector<Camera>& cameras);

Camera to_scene(const SceneFrame& frame, const Camera& camera);
std::vector<Camera> to_scene(const SceneFrame& frame, const std::vector<Camera>& cameras);

/// Back to the coordinates of the world.
Camera to_world(const SceneFrame& frame, const Camera& camera);

}  // namespace lact::data
