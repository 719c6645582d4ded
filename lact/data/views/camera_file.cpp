#include "lact/data/views/camera_file.h"

#include <cmath>
#include <utility>

#include "lact/base/error.h"
#include "lact/data/views/pose.h"
#include "lact/data/views/readers.h"
#include "lact/io/atomic_file.h"
#include "lact/io/image.h"

namespace lact::data {

namespace {

// Beyond these, rays in float32 are no longer numbers, or no longer different.
constexpr double kShortestFocal = 1e-3, kLongestFocal = 1e8, kFarthestCentre = 1e8;

}  // namespace

void check_intrinsics(const Camera& camera, const std::string& where) {
  for (const auto& [name, focal] : {std::pair{"fx", camera.fx}, {"fy", camera.fy}})
    LACT_CHECK(focal >= kShortestFocal && focal <= kLongestFocal,
               "{}: the focal length is {} ({}), expected {} to {:g} pixels", where, focal, name,
               kShortestFocal, kLongestFocal);
  for (const auto& [name, centre] : {std::pair{"cx", camera.cx}, {"cy", camera.cy}})
    LACT_CHECK(std::abs(centre) <= kFarthestCentre,
               "{}: the centre of the picture is at {} ({}), expected {:g} to {:g} pixels", where, centre,
               name, -kFarthestCentre, kFarthestCentre);
  io::check_image_size(where, camera.height, camera.width);
}

Camera camera_of_record(const JsonRecord& entry) {
  Camera camera;
  camera.width = entry.pixels("w");
  camera.height = entry.pixels("h");
  camera.fx = entry.number("fx");
  camera.fy = entry.number("fy");
  camera.cx = entry.number("cx");
  camera.cy = entry.number("cy");
  camera.camera_to_world = inverse(entry.pose("w2c"));
  check_intrinsics(camera, entry.where());
  return camera;
}

std::vector<Camera> read_camera_path(const std::string& file) {
  const options::Json json = read_camera_json(file);
  LACT_CHECK(json.is_array() && !json.empty(),
             "{}: not a camera path: expected a list of {{w, h, fx, fy, cx, cy, w2c}}", file);
  std::vector<Camera> cameras;
  for (size_t i = 0; i < json.size(); ++i)
    cameras.push_back(camera_of_record(JsonRecord(json[i], fmt::format("{}: view {}", file, i))));
  return cameras;
}

void write_camera_path(const std::string& file, const std::vector<Camera>& cameras,
                       const std::vector<std::string>& pictures) {
  LACT_CHECK(pictures.empty() || pictures.size() == cameras.size(), "{}: {} pictures for {} cameras", file,
             pictures.size(), cameras.size());
  options::Json list = options::Json::array();
  for (size_t i = 0; i < cameras.size(); ++i) {
    const Camera& camera = cameras[i];
    list.push_back({{"w", camera.width},
                    {"h", camera.height},
                    {"fx", camera.fx},
                    {"fy", camera.fy},
                    {"cx", camera.cx},
                    {"cy", camera.cy},
                    {"w2c", inverse(camera.camera_to_world)}});
    if (!pictures.empty()) list.back()["file_path"] = pictures[i];
  }
  if (!pictures.empty()) list = options::Json{{"frames", std::move(list)}};
  io::write_file_atomically(file, [&](io::FileWriter& writer) { writer.write(list.dump(1) + "\n"); });
}

}  // namespace lact::data
