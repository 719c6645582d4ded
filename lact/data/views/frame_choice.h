// In which coordinates a model sees a scene: those that its training used.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "lact/data/views/normalize.h"

namespace lact::data {

enum class FrameChoice {
  given,      ///< as the camera file has them
  mean_pose,  ///< the mean camera at the origin, all cameras within [-1, 1]: the authors' for whole scenes
  object,     ///< what the cameras look at stands at the origin with z up, as in the tracer's scenes
};

inline std::array<std::pair<FrameChoice, const char*>, 3> enum_names(FrameChoice) {
  return {{{FrameChoice::given, "given"},
           {FrameChoice::mean_pose, "mean_pose"},
           {FrameChoice::object, "object"}}};
}

SceneFrame scene_frame(const std::vector<Camera>& cameras, FrameChoice choice);

/// All cameras, in the frame that the first `inputs` of them give the scene.
std::vector<Camera> in_frame_of_inputs(const std::vector<Camera>& cameras, int64_t inputs,
                                       FrameChoice choice);

/// The point nearest to all lines of sight goes to the origin, the mean upward direction of the cameras to z,
/// their mean distance to that of the tracer's usual cameras. A scene that has z up already is not rotated.
SceneFrame object_frame(const std::vector<Camera>& cameras);

}  // namespace lact::data
