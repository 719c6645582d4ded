// The parts of a COLMAP model that a scene needs, from either of its encodings.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lact/data/views/camera.h"
#include "lact/data/views/distortion.h"

namespace lact::data {

/// Size, intrinsics and lens; no pose.
struct ColmapCamera {
  Camera camera;
  Distortion distortion;
};

struct ColmapImage {
  std::array<double, 4> rotation;     ///< quaternion w, x, y, z: world to camera
  std::array<double, 3> translation;  ///< world to camera
  int64_t camera = 0;
  std::string name;
};

/// How many parameters a model has, by its name; a model that is not understood is a sentence.
size_t colmap_parameter_count(const std::string& model, const std::string& where);
/// The name of a model number of the binary files.
std::string colmap_model_name(int64_t number, const std::string& where);

ColmapCamera make_colmap_camera(const std::string& model, int64_t width, int64_t height,
                                const std::vector<double>& parameters, const std::string& where);

/// A point that several photos show.
struct ColmapPoint {
  std::array<double, 3> place;
  std::array<double, 3> colour;  ///< in [0, 1]
};

std::map<int64_t, ColmapCamera> read_colmap_cameras_text(const std::string& file);
std::vector<ColmapImage> read_colmap_images_text(const std::string& file);
std::vector<ColmapPoint> read_colmap_points_text(const std::string& file);
std::map<int64_t, ColmapCamera> read_colmap_cameras_binary(const std::string& file);
std::vector<ColmapImage> read_colmap_images_binary(const std::string& file);
std::vector<ColmapPoint> read_colmap_points_binary(const std::string& file);

/// Throws a sentence unless the place is finite and within what float32 can work with.
void check_colmap_point(const ColmapPoint& point, const std::string& where);

}  // namespace lact::data
