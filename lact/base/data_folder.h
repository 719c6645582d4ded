// Folders of data that come with the program, such as trained weights.
#pragma once

#include <string>

namespace lact {

struct DataFolder {
  std::string in_source;  ///< in the source tree: "weights/nvs"
  std::string installed;  ///< below share/lact: "weights/nvs"
  std::string file;       ///< which the folder holds, to tell it from others of that name
};

/// Looks in every folder above the program, then in the current folder and above it. "" if there is none.
std::string find_data_folder(const DataFolder& wanted);

/// The same above one path alone; the path itself is not looked into.
std::string find_data_folder_above(const std::string& path, const DataFolder& wanted);

}  // namespace lact
