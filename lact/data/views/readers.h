// One reader per camera format. A reader gives views whose image is the name that the file has: relative to
// some folder, perhaps without ending, perhaps of a file that does not exist. capture.cpp finds the pictures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lact/base/options.h"
#include "lact/data/views/capture.h"
#include "lact/io/image.h"

namespace lact::data {

/// Whether a JSON document is the authors' list (or {"frames": list} of the same entries).
bool is_opencv_cameras(const options::Json& json);
std::vector<View> read_opencv_cameras(const options::Json& json, const std::string& file);

/// The size of a picture of this name; nothing where there is no such picture.
using SizeOfImage = std::function<std::optional<io::ImageSize>(const std::string& name)>;

bool is_transforms(const options::Json& json);
/// A view whose size is neither stated nor found is 0 x 0.
std::vector<View> read_transforms(const options::Json& json, const std::string& file, CameraAxes axes,
                                  const SizeOfImage& size_of_image);

/// Whether the folder holds cameras and images of COLMAP, binary or text.
bool is_colmap_folder(const std::string& folder);
/// Sorted by name.
std::vector<View> read_colmap(const std::string& folder);

}  // namespace lact::data
