#include "lact/data/views/photo_scenes.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "lact/base/error.h"
#include "lact/base/options.h"
#include "lact/data/views/capture.h"
#include "lact/data/views/json_record.h"
#include "lact/data/views/readers.h"
#include "lact/io/regular_file.h"

namespace lact::data {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxListBytes = uint64_t{1} << 28;
constexpr int kDeepest = 8;

/// Scenes below a folder; folders of a scene are not searched.
void find_below(const fs::path& root, const fs::path& folder, int depth, std::vector<NamedPath>& scenes) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) folders.push_back(entry->path());
  }
  LACT_CHECK(!error, "{}: the folder cannot be read: {}", folder.string(), error.message());
  for (const fs::path& below : folders) {
    if (holds_capture(below.string())) {
      scenes.push_back({below.string(), below.lexically_relative(root).generic_string()});
    } else if (depth < kDeepest) {
      find_below(root, below, depth + 1, scenes);
    }
  }
}

std::vector<std::string> lines_of(const std::string& file) {
  std::istringstream text(io::read_whole_file(file, kMaxListBytes));
  std::vector<std::string> entries;
  for (std::string line; std::getline(text, line);) {
    line.erase(std::min(line.find('#'), line.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) line.pop_back();
    line.erase(0, line.find_first_not_of(" \t"));
    if (!line.empty()) entries.push_back(line);
  }
  return entries;
}

/// The paths of a list; nothing if the file is no list of scenes, but a camera file.
std::vector<std::string> entries_of_list(const std::string& file) {
  const fs::path path = file;
  if (path.extension() == ".txt" && !is_colmap_folder(path.parent_path().string())) {
    const auto entries = lines_of(file);
    LACT_CHECK(!entries.empty(), "{}: the list of scenes is empty", file);
    return entries;
  }
  if (path.extension() != ".json") return {};
  const options::Json json = read_camera_json(file);
  if (!json.is_array() || json.empty() || !json.front().is_string()) return {};
  std::vector<std::string> entries;
  options::read(json, entries, file);
  return entries;
}

void find_in_list(const std::string& list, const std::vector<std::string>& entries,
                  std::vector<NamedPath>& scenes) {
  for (const std::string& entry : entries) {
    const fs::path path = fs::path(list).parent_path() / entry;
    std::error_code ignored;
    LACT_CHECK(fs::exists(path, ignored), "{}: names {}, which does not exist", list, path.string());
    scenes.push_back({path.string(), entry});
  }
}

}  // namespace

std::vector<NamedPath> find_photo_scenes(const std::vector<std::string>& paths) {
  std::vector<NamedPath> scenes;
  for (const std::string& path : paths) {
    std::error_code ignored;
    LACT_CHECK(!path.empty() && fs::exists(path, ignored), "{}: no such file or folder",
               path.empty() ? "the photos" : path);
    if (!fs::is_directory(path, ignored)) {
      const auto entries = entries_of_list(path);
      if (entries.empty()) scenes.push_back({path, name_of_capture(path)});
      find_in_list(path, entries, scenes);
    } else if (holds_capture(path)) {
      scenes.push_back({path, name_of_capture(path)});
    } else {
      const size_t before = scenes.size();
      find_below(path, path, 1, scenes);
      LACT_CHECK(scenes.size() > before,
                 "{}: neither the folder nor one below it holds cameras: expected opencv_cameras.json, "
                 "transforms.json, transforms_train.json or a COLMAP model (sparse/0/cameras.bin or .txt)",
                 path);
    }
  }
  sort_by_name(scenes);
  return scenes;
}

std::string name_of_capture(const std::string& path) {
  std::error_code ignored;
  fs::path folder = fs::absolute(path, ignored).lexically_normal();
  if (!fs::is_directory(folder, ignored)) folder = folder.parent_path();
  const auto is_generic = [](const std::string& name) {
    return name.empty() || name == "sparse" || name == "colmap" ||
           std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  while (is_generic(folder.filename().string()) && folder.has_relative_path()) folder = folder.parent_path();
  return folder.has_filename() ? folder.filename().string() : "photos";
}

}  // namespace lact::data
