// A page's request for a frame, as JSON from outside:
//   {"id": 7, "width": 640, "height": 360, "fx": 500, "fy": 500, "cx": 320, "cy": 180,
//    "camera_to_world": [[1,0,0,0], [0,1,0,0], [0,0,1,0], [0,0,0,1]]}
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "lact/data/views/camera.h"

namespace lact::tasks::nvs {

struct FrameLimits {
  int64_t max_side = 2048;
  int64_t size_multiple = 8;
};

struct FrameRequest {
  int64_t id = 0;  ///< goes back with the frame
  data::Camera camera;
};

/// Checks everything. The size is rounded to multiples, and the intrinsics are scaled with it.
FrameRequest parse_frame_request(const std::string& message, const FrameLimits& limits);

/// The camera in the words above.
nlohmann::ordered_json camera_json(const data::Camera& camera);

}  // namespace lact::tasks::nvs
