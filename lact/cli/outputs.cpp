#include "lact/cli/outputs.h"

#include <filesystem>
#include <functional>

#include "lact/base/error.h"
#include "lact/io/atomic_file.h"
#include "lact/io/frame_output.h"
#include "lact/io/gaussian_ply.h"

namespace lact::cli {

namespace {

CLI::Validator checked_by(std::function<void(const std::string&)> check) {
  return {[check = std::move(check)](const std::string& path) -> std::string {
            try {
              check(path);
            } catch (const Error& error) {
              return error.what();
            }
            return "";
          },
          /*description=*/""};
}

}  // namespace

CLI::Validator output_file() { return checked_by(io::check_can_write); }

CLI::Validator output_file_in_new_folder() {
  return checked_by([](const std::string& path) {
    const auto folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) io::check_can_create_folder(folder.string());
    if (folder.empty() || std::filesystem::exists(folder)) io::check_can_write(path);
  });
}

CLI::Validator output_folder() { return checked_by(io::check_can_create_folder); }

CLI::Validator output_folder_or_ply() {
  return checked_by([](const std::string& path) {
    io::has_ply_name(path) ? io::check_can_write(path) : io::check_can_create_folder(path);
  });
}

CLI::Validator output_frames() {
  return checked_by([](const std::string& path) {
    const bool file = io::is_video_name(path) || path.ends_with(".png");
    if (file && !std::filesystem::is_directory(path)) return io::check_can_write(path);
    io::check_can_create_folder(path);
  });
}

}  // namespace lact::cli
