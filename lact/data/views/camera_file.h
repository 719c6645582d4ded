// Cameras without pictures: a path to render along. The same layout as the authors' opencv_cameras.json, a
// list of {w, h, fx, fy, cx, cy, w2c}, where w2c is world to camera in OpenCV's axes.
#pragma once

#include <string>
#include <vector>

#include "lact/data/views/camera.h"
#include "lact/data/views/json_record.h"

namespace lact::data {

std::vector<Camera> read_camera_path(const std::string& file);

/// Written atomically. With `pictures`, paths relative to the file, it is an opencv_cameras.json.
void write_camera_path(const std::string& file, const std::vector<Camera>& cameras,
                       const std::vector<std::string>& pictures = {});

/// One entry of such a list; a focal length that is not positive or a bad matrix is a sentence.
Camera camera_of_record(const JsonRecord& entry);

/// Throws a sentence that begins with `where` unless size, focal lengths and centre can be those of a
/// camera.
void check_intrinsics(const Camera& camera, const std::string& where);

}  // namespace lact::data
