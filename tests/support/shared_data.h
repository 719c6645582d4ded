// The data that lies beside the repository on the developers' machines.
#pragma once

#include <filesystem>
#include <string>

#include "support/places.h"

namespace lact::testing {

/// A file or folder of it; "" if it is not there.
inline std::string shared_data(const std::string& name) {
  const std::string path = source_folder() + "/../shared/data/" + name;
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace lact::testing
