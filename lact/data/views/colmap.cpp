#include "lact/data/views/colmap.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/data/views/camera_file.h"
#include "lact/data/views/pose.h"
#include "lact/data/views/readers.h"

namespace lact::data {

namespace {

namespace fs = std::filesystem;

struct ColmapModel {
  const char* name;
  size_t parameters;  ///< 0: known to COLMAP, not to us
};

/// In the order of COLMAP's numbers.
constexpr ColmapModel kColmapModels[] = {{"SIMPLE_PINHOLE", 3},
                                         {"PINHOLE", 4},
                                         {"SIMPLE_RADIAL", 4},
                                         {"RADIAL", 5},
                                         {"OPENCV", 8},
                                         {"OPENCV_FISHEYE", 8},
                                         {"FULL_OPENCV", 0},
                                         {"FOV", 0},
                                         {"SIMPLE_RADIAL_FISHEYE", 0},
                                         {"RADIAL_FISHEYE", 0},
                                         {"THIN_PRISM_FISHEYE", 0}};

std::string readable_colmap_models() {
  std::vector<std::string> names;
  for (const auto& model : kColmapModels)
    if (model.parameters > 0) names.emplace_back(model.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string colmap_file(const std::string& folder, const std::string& stem) {
  for (const char* ending : {".bin", ".txt"})
    if (const fs::path path = fs::path(folder) / (stem + ending); fs::exists(path)) return path.string();
  return "";
}

Pose world_to_camera(const ColmapImage& image, const std::string& where) {
  auto [w, x, y, z] = image.rotation;
  const double norm = std::sqrt(w * w + x * x + y * y + z * z);
  LACT_CHECK(std::isfinite(norm) && std::abs(norm - 1) < 1e-2,
             "{}: the rotation is a quaternion of length {:.4g}, expected 1", where, norm);
  w /= norm, x /= norm, y /= norm, z /= norm;
  const auto [tx, ty, tz] = image.translation;
  const Pose pose = {{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), tx},
                      {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), ty},
                      {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), tz},
                      {0, 0, 0, 1}}};
  check_pose(pose, where);
  return pose;
}

}  // namespace

size_t colmap_parameter_count(const std::string& model, const std::string& where) {
  for (const auto& known : kColmapModels)
    if (known.name == model && known.parameters > 0) return known.parameters;
  fail("{}: the camera model is {}, expected one of {}; COLMAP's image_undistorter makes such images", where,
       model, readable_colmap_models());
}

std::string colmap_model_name(int64_t number, const std::string& where) {
  LACT_CHECK(number >= 0 && number < static_cast<int64_t>(std::size(kColmapModels)),
             "{}: the camera model has number {}, expected one of {}", where, number,
             readable_colmap_models());
  return kColmapModels[number].name;
}

ColmapCamera make_colmap_camera(const std::string& model, int64_t width, int64_t height,
                                const std::vector<double>& parameters, const std::string& where) {
  const size_t count = colmap_parameter_count(model, where);
  LACT_CHECK(parameters.size() == count, "{}: the camera model {} has {} parameters, expected {}", where,
             model, parameters.size(), count);
  for (const double parameter : parameters)
    LACT_CHECK(std::isfinite(parameter), "{}: a parameter is {}, expected a finite number", where, parameter);
  ColmapCamera result;
  Camera& camera = result.camera;
  camera.width = width;
  camera.height = height;
  const bool one_focal_length = model == "SIMPLE_PINHOLE" || model == "SIMPLE_RADIAL" || model == "RADIAL";
  const double* next = parameters.data();
  camera.fx = *next++;
  camera.fy = one_focal_length ? camera.fx : *next++;
  camera.cx = *next++;
  camera.cy = *next++;
  if (model == "SIMPLE_RADIAL") result.distortion = radial_tangential(next[0], 0, 0, 0, 0, 0);
  if (model == "RADIAL") result.distortion = radial_tangential(next[0], next[1], 0, 0, 0, 0);
  if (model == "OPENCV") result.distortion = radial_tangential(next[0], next[1], 0, 0, next[2], next[3]);
  if (model == "OPENCV_FISHEYE")
    result.distortion = {LensModel::fisheye, next[0], next[1], next[2], next[3], 0, 0};
  check_intrinsics(camera, where);
  return result;
}

void check_colmap_point(const ColmapPoint& point, const std::string& where) {
  for (const double value : point.place)
    LACT_CHECK(std::isfinite(value) && std::abs(value) < 1e18, "{}: is at {}, expected a number below 1e18",
               where, value);
}

bool is_colmap_folder(const std::string& folder) {
  return !colmap_file(folder, "cameras").empty() && !colmap_file(folder, "images").empty();
}

std::vector<View> read_colmap(const std::string& folder) {
  const std::string cameras_file = colmap_file(folder, "cameras"),
                    images_file = colmap_file(folder, "images");
  const auto is_binary = [](const std::string& file) { return file.ends_with(".bin"); };
  const auto cameras = is_binary(cameras_file) ? read_colmap_cameras_binary(cameras_file)
                                               : read_colmap_cameras_text(cameras_file);
  auto images =
      is_binary(images_file) ? read_colmap_images_binary(images_file) : read_colmap_images_text(images_file);
  LACT_CHECK(!images.empty(), "{}: holds no image", images_file);
  std::sort(images.begin(), images.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::vector<View> views;
  for (const ColmapImage& image : images) {
    const std::string where = fmt::format("{}: {}", images_file, image.name);
    const auto found = cameras.find(image.camera);
    LACT_CHECK(found != cameras.end(), "{}: its camera {} is not in {}", where, image.camera, cameras_file);
    View view{found->second.camera, found->second.distortion, image.name};
    view.camera.camera_to_world = inverse(world_to_camera(image, where));
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace lact::data
