#include "lact/base/data_folder.h"

#include <filesystem>

namespace lact {

namespace fs = std::filesystem;

std::string find_data_folder_above(const std::string& path, const DataFolder& wanted) {
  std::error_code ignored;
  for (fs::path folder = path; folder.has_relative_path();) {
    folder = folder.parent_path();
    for (const fs::path& place : {fs::path(wanted.in_source), fs::path("share/lact") / wanted.installed}) {
      if (fs::exists(folder / place / wanted.file, ignored)) return (folder / place).string();
    }
  }
  return "";
}

std::string find_data_folder(const DataFolder& wanted) {
  std::error_code ignored;
  const std::string beside_program =
      find_data_folder_above(fs::read_symlink("/proc/self/exe", ignored).string(), wanted);
  if (!beside_program.empty()) return beside_program;
  return find_data_folder_above((fs::current_path(ignored) / "x").string(), wanted);
}

}  // namespace lact
