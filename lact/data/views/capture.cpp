#include "lact/data/views/capture.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/data/views/json_record.h"
#include "lact/data/views/readers.h"
#include "lact/io/image.h"

namespace lact::data {

namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// "" if the picture does not exist. NeRF's own files leave the ending out.
std::string find_picture(const fs::path& path) {
  for (const char* ending : {"", ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG"})
    if (const fs::path whole = path.string() + ending; is_file(whole))
      return whole.lexically_normal().string();
  return "";
}

/// Where the names in a camera file start.
struct PictureFolder {
  fs::path path;
  bool given =
      false;  ///< by the user: then a name also counts without its folders, "images/a.png" as "a.png"

  std::string find(const std::string& name) const {
    std::string found = find_picture(path / name);
    if (found.empty() && given) found = find_picture(path / fs::path(name).filename());
    return found;
  }
};

/// Where a COLMAP model's names start: COLMAP does not say. `images` beside the model or above it is usual.
fs::path colmap_picture_folder(const fs::path& model, const std::string& name) {
  const fs::path start = fs::absolute(model).lexically_normal();
  fs::path folder = start;
  for (int level = 0; level < 4; ++level) {
    for (const fs::path& candidate : {folder / "images", folder})
      if (!find_picture(candidate / name).empty()) return candidate;
    folder = folder.parent_path();
  }
  return model / "images";
}

/// The camera file (or folder of a COLMAP model) in a folder of photos; "" if there is none.
std::string camera_file_in(const std::string& folder) {
  const fs::path root(folder);
  for (const char* name :
       {"opencv_cameras.json", "transforms.json", "transforms_train.json", "opencv_cameras_train.json"})
    if (is_file(root / name)) return (root / name).string();
  for (const char* name : {"", "sparse/0", "sparse", "colmap/sparse/0"})
    if (is_colmap_folder((root / name).string())) return (root / name).lexically_normal().string();
  return "";
}

/// Replaces names by paths; views without a picture are an error or left out.
void find_pictures(Capture& capture, const PictureFolder& folder, const CaptureOptions& options) {
  const bool skip_missing = options.skip_missing || options.expects_more;
  std::vector<View> present;
  std::string first_missing;
  size_t missing = 0;
  for (View& view : capture.views) {
    std::string path = folder.find(view.image);
    if (path.empty()) {
      if (missing++ == 0) first_missing = (folder.path / view.image).lexically_normal().string();
      continue;
    }
    view.image = std::move(path);
    if (!view.mask.empty()) {
      std::string mask = folder.find(view.mask);
      LACT_CHECK(!mask.empty(), "{}: the mask {} of {} does not exist", capture.source,
                 (folder.path / view.mask).lexically_normal().string(), view.image);
      view.mask = std::move(mask);
    }
    present.push_back(std::move(view));
  }
  LACT_CHECK(missing == 0 || (skip_missing && !present.empty()),
             "{}: {} of {} images do not exist, the first is {}; skip_missing leaves such views out",
             capture.source, missing, capture.views.size(), first_missing);
  if (missing > 0 && !options.expects_more)
    log::warn("{}: {} of {} views are left out because their image does not exist", capture.source, missing,
              capture.views.size());
  capture.views = std::move(present);
}

void report_masks(const Capture& capture) {
  const auto masks = std::count_if(capture.views.begin(), capture.views.end(),
                                   [](const View& view) { return !view.mask.empty(); });
  if (masks > 0)
    log::info("{}: {} of {} photos have a mask; what it hides becomes white", capture.source, masks,
              capture.views.size());
}

void report_distortion(const Capture& capture) {
  std::map<std::string, int64_t> lenses;
  for (const View& view : capture.views)
    if (!view.distortion.none()) ++lenses[describe(view.distortion)];
  if (lenses.empty()) return;
  const std::string others = lenses.size() > 1 ? fmt::format(" and {} other lenses", lenses.size() - 1) : "";
  log::info("{}: the photos are distorted by the lens ({}{}); they are straightened while they are read",
            capture.source, lenses.begin()->first, others);
}

Capture load_json_capture(const std::string& file, const CaptureOptions& options) {
  const options::Json json = read_camera_json(file);
  const bool list_of_files = json.is_array() && !json.empty() && json.front().is_string();
  LACT_CHECK(!list_of_files, "{}: is a list of scenes, expected the camera file of one of them, such as {}",
             file, json.front().get<std::string>());
  const PictureFolder folder{options.images.empty() ? fs::path(file).parent_path() : fs::path(options.images),
                             !options.images.empty()};
  Capture capture{file, {}};
  if (is_opencv_cameras(json)) {
    capture.views = read_opencv_cameras(json, file);
  } else {
    LACT_CHECK(
        is_transforms(json),
        "{}: not a camera file: expected a list of {{w, h, fx, fy, cx, cy, w2c, file_path}} or an object "
        "with \"frames\"",
        file);
    const auto size_of_image = [&](const std::string& name) -> std::optional<io::ImageSize> {
      const std::string path = folder.find(name);
      return path.empty() ? std::nullopt : std::optional(io::read_image_size(path));
    };
    capture.views = read_transforms(json, file, options.axes, size_of_image);
  }
  find_pictures(capture, folder, options);
  return capture;
}

Capture load_colmap_capture(const std::string& model, const CaptureOptions& options) {
  Capture capture{model, read_colmap(model)};
  PictureFolder folder{options.images, !options.images.empty()};
  if (!folder.given) folder.path = colmap_picture_folder(model, capture.views.front().image);
  find_pictures(capture, folder, options);
  return capture;
}

}  // namespace

Capture load_capture(const std::string& path, const CaptureOptions& options) {
  std::error_code ignored;
  LACT_CHECK(!path.empty() && fs::exists(path, ignored), "{}: no such file or folder",
             path.empty() ? "the photos" : path);
  const std::string found = fs::is_directory(path, ignored) ? camera_file_in(path) : path;
  LACT_CHECK(
      !found.empty(),
      "{}: the folder holds no cameras: expected opencv_cameras.json, transforms.json, transforms_train.json "
      "or a COLMAP model (sparse/0/cameras.bin or .txt)",
      path);
  const std::string ending = fs::path(found).extension().string();
  const bool colmap_part =
      (ending == ".bin" || ending == ".txt") && is_colmap_folder(fs::path(found).parent_path().string());
  Capture capture;
  if (fs::is_directory(found, ignored) || colmap_part) {
    capture = load_colmap_capture(colmap_part ? fs::path(found).parent_path().string() : found, options);
  } else {
    capture = load_json_capture(found, options);
  }
  if (!options.expects_more) {
    report_distortion(capture);
    report_masks(capture);
  }
  return capture;
}

bool holds_capture(const std::string& folder) {
  std::error_code ignored;
  return fs::is_directory(folder, ignored) && !camera_file_in(folder).empty();
}

std::vector<Camera> cameras_of(const Capture& capture) {
  std::vector<Camera> cameras;
  for (const View& view : capture.views) cameras.push_back(view.camera);
  return cameras;
}

}  // namespace lact::data
