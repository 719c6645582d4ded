#include "lact/data/text/cache_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace lact::data {

namespace fs = std::filesystem;

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Whether another user could have put files there for us to read.
bool is_foreign(const std::string& folder) {
  struct stat status = {};
  return lstat(folder.c_str(), &status) == 0 && (status.st_uid != getuid() || !S_ISDIR(status.st_mode));
}

}  // namespace

std::vector<std::string> cache_folders(const std::string& path) {
  fs::path place = fs::absolute(path).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // "books/" is "books"
  std::vector<std::string> folders = {(place.parent_path() / ".lact-cache").string()};
  if (const auto cache = environment("XDG_CACHE_HOME"); !cache.empty()) folders.push_back(cache + "/lact");
  if (const auto home = environment("HOME"); !home.empty()) folders.push_back(home + "/.cache/lact");
  // Everyone may write to /tmp, so a folder of that name counts only if it is ours.
  const std::string shared = fmt::format("/tmp/lact-cache-{}", getuid());
  if (!is_foreign(shared)) folders.push_back(shared);
  return folders;
}

bool make_writable_folder(const std::string& folder) {
  std::error_code error;
  fs::path existing = fs::absolute(folder).lexically_normal();
  while (!fs::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  // The administrator may write anywhere, but a folder without write permission is meant to stay as it is.
  constexpr fs::perms kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  if ((fs::status(existing, error).permissions() & kWrite) == fs::perms::none) return false;
  fs::create_directories(folder, error);
  return fs::is_directory(folder, error) && access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace lact::data
