#include "lact/tasks/nvs/serving/frame_request.h"

#include <algorithm>
#include <cmath>

#include "lact/base/error.h"
#include "lact/base/json_text.h"

namespace lact::tasks::nvs {

namespace {

using RequestJson = nlohmann::ordered_json;

constexpr int64_t kMaxId = int64_t{1} << 53;  // a page counts in float64
constexpr double kMaxRatio = 100;             // of focal length or principal point to the picture's size
constexpr double kMaxDistance = 1e6;
constexpr double kRotationTolerance = 1e-3;

const RequestJson& request_field(const RequestJson& request, const char* name) {
  const auto found = request.find(name);
  LACT_CHECK(found != request.end(), "[view] the request has no \"{}\"", name);
  return *found;
}

int64_t request_integer(const RequestJson& request, const char* name, int64_t lowest, int64_t highest) {
  const RequestJson& value = request_field(request, name);
  const bool fits = value.is_number_integer() && value >= lowest && value <= highest;
  LACT_CHECK(fits, "[view] {} is not a whole number from {} to {}", name, lowest, highest);
  return value.get<int64_t>();
}

double request_number(const RequestJson& value, const std::string& name, double lowest, double highest) {
  // null is what JSON.stringify makes of NaN
  LACT_CHECK(value.is_number(), "[view] {} is {}, expected a number", name, value.type_name());
  const double number = value.get<double>();
  LACT_CHECK(number >= lowest && number <= highest, "[view] {} is {}, expected {} to {}", name, number,
             lowest, highest);
  return number;
}

void read_pose(const RequestJson& rows, data::Camera& camera) {
  LACT_CHECK(rows.is_array() && rows.size() == 4, "[view] camera_to_world is not a list of 4 rows");
  auto& pose = camera.camera_to_world;
  for (size_t i = 0; i < 4; ++i) {
    LACT_CHECK(rows[i].is_array() && rows[i].size() == 4,
               "[view] row {} of camera_to_world is not a list of 4 numbers", i);
    for (size_t j = 0; j < 4; ++j) {
      const double limit = j == 3 ? kMaxDistance : 1 + kRotationTolerance;
      pose[i][j] = request_number(rows[i][j], fmt::format("camera_to_world[{}][{}]", i, j), -limit, limit);
    }
  }
  LACT_CHECK((pose[3] == std::array<double, 4>{0, 0, 0, 1}),
             "[view] the last row of camera_to_world is not 0 0 0 1");
}

/// Rows of unit length, at right angles, and no reflection: the third is the cross product of the first two.
void check_rotation(const data::Camera& camera) {
  const auto& r = camera.camera_to_world;
  double worst = 0;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      const double product = r[i][0] * r[j][0] + r[i][1] * r[j][1] + r[i][2] * r[j][2];
      worst = std::max(worst, std::abs(product - (i == j ? 1 : 0)));
    }
    const double cross = r[0][(i + 1) % 3] * r[1][(i + 2) % 3] - r[0][(i + 2) % 3] * r[1][(i + 1) % 3];
    worst = std::max(worst, std::abs(cross - r[2][i]));
  }
  LACT_CHECK(worst <= kRotationTolerance,
             "[view] camera_to_world does not begin with a rotation: it is off by {:.3g}", worst);
}

/// The nearest multiple that is neither 0 nor above the limit.
int64_t rounded_side(int64_t side, const FrameLimits& limits) {
  const int64_t step = limits.size_multiple;
  return std::clamp((side + step / 2) / step * step, step, std::max(step, limits.max_side / step * step));
}

}  // namespace

FrameRequest parse_frame_request(const std::string& message, const FrameLimits& limits) {
  const RequestJson json = try_parse_json(message).value_or(nullptr);
  LACT_CHECK(json.is_object(), "[view] the message is not a JSON object");
  FrameRequest request;
  request.id = request_integer(json, "id", 0, kMaxId);
  data::Camera& camera = request.camera;
  const int64_t width = request_integer(json, "width", 1, limits.max_side),
                height = request_integer(json, "height", 1, limits.max_side);
  camera.width = rounded_side(width, limits);
  camera.height = rounded_side(height, limits);
  const double across = static_cast<double>(camera.width) / static_cast<double>(width),
               down = static_cast<double>(camera.height) / static_cast<double>(height);
  const auto scaled = [&](const char* name, int64_t size, double lowest_ratio, double scale) {
    const double side = static_cast<double>(size);
    return scale * request_number(request_field(json, name), name, lowest_ratio * side, kMaxRatio * side);
  };
  camera.fx = scaled("fx", width, 1 / kMaxRatio, across);
  camera.fy = scaled("fy", height, 1 / kMaxRatio, down);
  camera.cx = scaled("cx", width, -kMaxRatio, across);
  camera.cy = scaled("cy", height, -kMaxRatio, down);
  read_pose(request_field(json, "camera_to_world"), camera);
  check_rotation(camera);
  return request;
}

nlohmann::ordered_json camera_json(const data::Camera& camera) {
  return {{"width", camera.width},
          {"height", camera.height},
          {"fx", camera.fx},
          {"fy", camera.fy},
          {"cx", camera.cx},
          {"cy", camera.cy},
          {"camera_to_world", camera.camera_to_world}};
}

}  // namespace lact::tasks::nvs
