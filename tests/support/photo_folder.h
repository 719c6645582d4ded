// A scene made of a seed, as a folder of pictures with their cameras.
#pragma once

#include <filesystem>
#include <string>

#include "lact/base/options.h"
#include "lact/data/views/pose.h"
#include "lact/data/views/tracer/random_camera.h"
#include "lact/data/views/tracer/random_scene.h"
#include "lact/data/views/tracer/render.h"
#include "lact/io/picture_sheet.h"
#include "lact/io/png.h"
#include "support/temporary_folder.h"

namespace lact::testing {

/// Writes view_0.png, ... and opencv_cameras.json.
inline void write_photos(const std::string& folder, const data::PosedImages& photos) {
  std::filesystem::create_directories(folder);
  options::Json list = options::Json::array();
  for (size_t i = 0; i < photos.cameras.size(); ++i) {
    const data::Camera& camera = photos.cameras[i];
    const std::string name = "view_" + std::to_string(i) + ".png";
    io::write_png(folder + "/" + name, io::to_bytes(photos.images[i]));
    list.push_back({{"w", camera.width},
                    {"h", camera.height},
                    {"fx", camera.fx},
                    {"fy", camera.fy},
                    {"cx", camera.cx},
                    {"cy", camera.cy},
                    {"w2c", data::inverse(camera.camera_to_world)},
                    {"file_path", name}});
  }
  write_file(folder + "/opencv_cameras.json", list.dump());
}

/// Returns the views as they were before rounding to bytes.
inline data::PosedImages write_photo_folder(const std::string& folder, int64_t views, int64_t height,
                                            int64_t width, uint64_t seed = 5) {
  auto photos = data::tracer::render_views(data::tracer::random_scene(seed),
                                           data::tracer::random_cameras(seed, views, height, width));
  write_photos(folder, photos);
  return photos;
}

}  // namespace lact::testing
