// transforms.json of NeRF, instant-ngp and nerfstudio: an object with "frames", each with "file_path" and
// "transform_matrix" (camera to world). Intrinsics, size and distortion stand in the frame or, for all
// frames, outside.
#include <array>
#include <cmath>
#include <string_view>

#include "lact/data/views/camera_file.h"
#include "lact/data/views/json_record.h"
#include "lact/data/views/readers.h"

namespace lact::data {

namespace {

constexpr double kPi = 3.14159265358979323846;

/// A frame, and behind it the document.
class TransformsFrame {
 public:
  TransformsFrame(const JsonRecord& frame, const JsonRecord& document) : frame_(frame), document_(document) {}

  /// The record that holds the key; null if none does.
  const JsonRecord* find(const std::string& key) const {
    return frame_.has(key) ? &frame_ : document_.has(key) ? &document_ : nullptr;
  }
  std::optional<double> number(const std::string& key) const {
    const JsonRecord* record = find(key);
    return record ? record->find_number(key) : std::nullopt;
  }
  double number_or_zero(const std::string& key) const { return number(key).value_or(0); }
  /// False where there is none.
  bool flag(const std::string& key) const {
    const JsonRecord* record = find(key);
    if (record != nullptr && !record->at(key).is_boolean()) record->wrong(key, "true or false");
    return record != nullptr && record->at(key).get<bool>();
  }

 private:
  const JsonRecord& frame_;
  const JsonRecord& document_;
};

/// fl_x, or w / (2 tan(camera_angle_x / 2)).
std::optional<double> focal_length(const TransformsFrame& frame, const std::string& axis, int64_t side) {
  if (const auto focal = frame.number("fl_" + axis)) return focal;
  const auto angle = frame.number("camera_angle_" + axis);
  if (!angle) return std::nullopt;
  LACT_CHECK(*angle > 0 && *angle < kPi, "{} is {}, expected an angle between 0 and pi",
             frame.find("camera_angle_" + axis)->name("camera_angle_" + axis), *angle);
  return static_cast<double>(side) / (2 * std::tan(*angle / 2));
}

Distortion lens_of_frame(const TransformsFrame& frame) {
  bool fisheye = false;
  if (const JsonRecord* record = frame.find("camera_model")) {
    constexpr std::array<std::string_view, 6> kStraight = {"OPENCV",        "PINHOLE", "SIMPLE_PINHOLE",
                                                           "SIMPLE_RADIAL", "RADIAL",  "PERSPECTIVE"};
    const std::string model = record->text("camera_model");
    fisheye = model == "OPENCV_FISHEYE";
    if (!fisheye && std::find(kStraight.begin(), kStraight.end(), model) == kStraight.end())
      record->wrong("camera_model", fmt::format("OPENCV_FISHEYE or one of {}", fmt::join(kStraight, ", ")));
  }
  if (frame.flag("is_fisheye")) fisheye = true;
  for (const char* name : {"equirectangular", "latlong"})
    if (frame.flag(name))
      frame.find(name)->wrong(name, "false: only pinhole and fisheye lenses are known here");
  std::array<double, 6> values = {};
  if (const JsonRecord* record = frame.find("distortion_params")) {
    const options::Json& list = record->at("distortion_params");
    bool numbers = list.is_array() && list.size() == values.size();
    for (size_t i = 0; numbers && i < values.size(); ++i) {
      numbers = list[i].is_number();
      if (numbers) values[i] = list[i].get<double>();
    }
    if (!numbers) record->wrong("distortion_params", "6 numbers: k1, k2, k3, k4, p1, p2");
  } else {
    const char* names[] = {"k1", "k2", "k3", "k4", "p1", "p2"};
    for (size_t i = 0; i < values.size(); ++i) values[i] = frame.number_or_zero(names[i]);
  }
  for (const char* name : {"k5", "k6", "ftheta_p0"})
    if (frame.number_or_zero(name) != 0)
      frame.find(name)->wrong(name, "none: lenses have k1, k2, k3, k4, p1 and p2 here");
  const auto [k1, k2, k3, k4, p1, p2] = values;
  if (fisheye) return {LensModel::fisheye, k1, k2, k3, k4, 0, 0};
  return radial_tangential(k1, k2, k3, k4, p1, p2);
}

/// Stated in the file, or else that of the picture.
std::optional<io::ImageSize> size_of_frame(const TransformsFrame& frame, const std::string& name,
                                           const SizeOfImage& size_of_image) {
  const JsonRecord* width = frame.find("w");
  const JsonRecord* height = frame.find("h");
  if (width && height) return io::ImageSize{height->pixels("h"), width->pixels("w")};
  return size_of_image(name);
}

bool has_opencv_axes(const JsonRecord& document, CameraAxes axes) {
  if (axes == CameraAxes::file && document.has("camera_axes")) {
    const std::string word = document.text("camera_axes");
    if (word != "opengl" && word != "opencv") document.wrong("camera_axes", "\"opengl\" or \"opencv\"");
    return word == "opencv";
  }
  return axes == CameraAxes::opencv;
}

View view_of_frame(const JsonRecord& record, const JsonRecord& document, bool opencv,
                   const SizeOfImage& size_of_image) {
  const TransformsFrame frame(record, document);
  View view;
  view.image = record.text("file_path");
  if (record.has("mask_path")) view.mask = record.text("mask_path");
  const Pose pose = record.pose("transform_matrix");
  view.camera.camera_to_world = opencv ? pose : with_y_and_z_flipped(pose);
  const auto size = size_of_frame(frame, view.image, size_of_image);
  if (!size) return view;
  Camera& camera = view.camera;
  camera.width = size->width;
  camera.height = size->height;
  const auto fx = focal_length(frame, "x", size->width), fy = focal_length(frame, "y", size->height);
  LACT_CHECK(fx || fy, "{} has no focal length: expected fl_x or camera_angle_x", record.where());
  camera.fx = fx ? *fx : *fy;
  camera.fy = fy ? *fy : *fx;
  camera.cx = frame.number("cx").value_or(static_cast<double>(size->width) / 2);
  camera.cy = frame.number("cy").value_or(static_cast<double>(size->height) / 2);
  check_intrinsics(camera, record.where());
  view.distortion = lens_of_frame(frame);
  return view;
}

/// Whether the focal length is told in pixels, once for all frames, but no size that they are of.
bool has_pixels_of_all(const JsonRecord& frame, const JsonRecord& document) {
  const bool sized = (frame.has("w") || document.has("w")) && (frame.has("h") || document.has("h"));
  return !sized && document.has("fl_x") && !frame.has("fl_x");
}

void check_same_size(const View& first, const View& view, const JsonRecord& document) {
  const Camera &a = first.camera, &b = view.camera;
  LACT_CHECK(a.width == b.width && a.height == b.height,
             "{} is for all frames and w and h are not stated, but {} has {} x {} pixels and {} has {} x {}",
             document.name("fl_x"), first.image, a.width, a.height, view.image, b.width, b.height);
}

}  // namespace

bool is_transforms(const options::Json& json) { return json.is_object() && json.contains("frames"); }

std::vector<View> read_transforms(const options::Json& json, const std::string& file, CameraAxes axes,
                                  const SizeOfImage& size_of_image) {
  const JsonRecord document(json, file + ":");
  const options::Json& frames = document.at("frames");
  if (!frames.is_array() || frames.empty()) document.wrong("frames", "a list of frames");
  const bool opencv = has_opencv_axes(document, axes);
  std::vector<View> views;
  std::optional<size_t> first_in_pixels;
  for (size_t i = 0; i < frames.size(); ++i) {
    const JsonRecord frame(frames[i], fmt::format("{}: frames.{}", file, i));
    views.push_back(view_of_frame(frame, document, opencv, size_of_image));
    if (!has_pixels_of_all(frame, document) || views.back().camera.width == 0) continue;
    if (!first_in_pixels) first_in_pixels = i;
    check_same_size(views[*first_in_pixels], views.back(), document);
  }
  return views;
}

}  // namespace lact::data
