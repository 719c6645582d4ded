#include "lact/data/views/frame_choice.h"

#include <cmath>

#include "lact/base/error.h"
#include "lact/data/views/camera_path.h"
#include "lact/data/views/tracer/random_camera.h"

namespace lact::data {

SceneFrame object_frame(const std::vector<Camera>& cameras) {
  LACT_CHECK(!cameras.empty(), "a scene without cameras has no frame");
  const Turntable around = turntable_around(cameras);
  const Point& up = around.up;
  // x of the world, or y where x points upwards, made level
  const Point axis = std::abs(up[0]) < 0.9 ? Point{1, 0, 0} : Point{0, 1, 0};
  const Point level = difference(axis, scaled(up, dot(axis, up)));
  const Point right = scaled(level, 1 / length(level));
  Pose scene_to_world = identity_pose();
  set_column(scene_to_world, 0, right);
  set_column(scene_to_world, 1, cross(up, right));
  set_column(scene_to_world, 2, up);
  set_column(scene_to_world, 3, around.center);
  return {inverse(scene_to_world), tracer::kUsualDistance / around.min_radius};
}

SceneFrame scene_frame(const std::vector<Camera>& cameras, FrameChoice choice) {
  if (choice == FrameChoice::given) return {};
  return choice == FrameChoice::mean_pose ? mean_pose_frame(cameras) : object_frame(cameras);
}

std::vector<Camera> in_frame_of_inputs(const std::vector<Camera>& cameras, int64_t inputs,
                                       FrameChoice choice) {
  if (choice == FrameChoice::given) return cameras;
  LACT_CHECK(inputs >= 1 && inputs <= static_cast<int64_t>(cameras.size()),
             "the frame of {} input views is asked for, but there are {} views", inputs, cameras.size());
  return to_scene(scene_frame({cameras.begin(), cameras.begin() + inputs}, choice), cameras);
}

}  // namespace lact::data
