// Captures by the hundred: where they are, and which are kept for validation.
#pragma once

#include <string>
#include <vector>

#include "lact/data/views/holdout.h"

namespace lact::data {

/// Each path is a camera file, a folder that holds one, a folder with such folders below it, or a list: a
/// .json with a list of paths, as the authors have it, or a .txt with one path per line (# begins a comment),
/// from the list's folder on. Sorted by name: the path below the folder, as in the list, or the scene's own.
std::vector<NamedPath> find_photo_scenes(const std::vector<std::string>& paths);

/// "photos/fox", "photos/fox/transforms.json" and "photos/fox/sparse/0" -> "fox"
std::string name_of_capture(const std::string& path);

}  // namespace lact::data
