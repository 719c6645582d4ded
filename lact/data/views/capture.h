// A capture: photos with known cameras, in any of the formats that people have them in:
//   opencv_cameras.json      the authors' list of {w, h, fx, fy, cx, cy, w2c, file_path}
//   transforms*.json         NeRF, instant-ngp and nerfstudio
//   cameras.bin, images.bin  a COLMAP model, or the same as .txt
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lact/data/views/camera.h"
#include "lact/data/views/distortion.h"

namespace lact::data {

/// One photo that has not been opened yet.
struct View {
  Camera camera;  ///< as the camera file says; the photo on disk may be larger or smaller
  Distortion distortion;
  std::string image;  ///< path of the picture
  std::string
      mask{};  ///< path of a picture of the same size, black where nothing is to be seen; may be empty
};

struct Capture {
  std::string source;  ///< the camera file
  std::vector<View> views;
};

/// The camera axes of a transforms.json. `file` obeys its field "camera_axes" ("opengl" or "opencv"), and is
/// OpenGL (x right, y up, z backward) where it has none, as NeRF, instant-ngp and nerfstudio mean it. Some
/// exporters write OpenCV's axes (x right, y down, z forward) without saying so.
enum class CameraAxes { file, opengl, opencv };

inline std::array<std::pair<CameraAxes, const char*>, 3> enum_names(CameraAxes) {
  return {{{CameraAxes::file, "file"}, {CameraAxes::opengl, "opengl"}, {CameraAxes::opencv, "opencv"}}};
}

struct CaptureOptions {
  CameraAxes axes = CameraAxes::file;
  std::string images{};       ///< the folder that image names start from; "" looks for it
  bool skip_missing = false;  ///< leave out views whose image does not exist instead of refusing them all
  bool expects_more = false;  ///< the same without a word, as photos will come; not for users to say

  template <class Visitor>
  void visit(Visitor&& field) {
    field("axes", axes, "camera axes of a transforms.json: file, opengl or opencv");
    field("images", images, "folder of the images, if not beside the camera file");
    field("skip_missing", skip_missing, "leave out views without an image");
  }
};

/// `path` is a camera file in any of the formats, or a folder that holds one. No picture is decoded; sizes
/// that the camera file does not state are read from the headers of the pictures.
Capture load_capture(const std::string& path, const CaptureOptions& options = {});

/// Whether load_capture would find a camera file in this folder.
bool holds_capture(const std::string& folder);

/// The cameras of all views.
std::vector<Camera> cameras_of(const Capture& capture);

}  // namespace lact::data
