#include "lact/tasks/nvs/load.h"

#include <algorithm>
#include <filesystem>

#include "lact/base/data_folder.h"
#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/ops/dispatch/device.h"

namespace lact::tasks::nvs {

std::string shipped_weights() { return find_data_folder({"weights/nvs", "weights/nvs", "config.json"}); }

Loaded load(const std::string& folder_or_file, const LoadOptions& options) {
  Loaded loaded;
  loaded.path = folder_or_file.empty() ? shipped_weights() : folder_or_file;
  LACT_CHECK(!loaded.path.empty(),
             "no weights come with this build (weights/nvs was not found); --model names a model folder, and "
             "lact nvs train makes one");
  loaded.model = models::load_nvs(loaded.path);
  loaded.model->set_compute_type(ops::compute_type(ops::announced(options.precision)));
  loaded.model->to(ops::compute_device());
  loaded.model->eval();
  loaded.fingerprint = models::fingerprint(*loaded.model);
  return loaded;
}

Loaded load_for_scene(const std::string& scene_file, const std::string& folder_or_file,
                      const LoadOptions& options) {
  if (!folder_or_file.empty()) return load(folder_or_file, options);
  const models::SceneOrigin origin = models::read_scene_origin(scene_file);
  std::error_code ignored;
  std::string looked;
  for (const std::string& place : {origin.model_path, shipped_weights()}) {
    if (place.empty() || !std::filesystem::exists(place, ignored)) continue;
    try {
      Loaded loaded = load(place, options);
      if (loaded.fingerprint == origin.model_hash) return loaded;
    } catch (const Error& error) {
      log::warn("{}", error.what());
    }
    looked += (looked.empty() ? "" : ", ") + place;
  }
  fail("{}: its model ({}) was not found{}{}; --model names its folder", scene_file, origin.model_hash,
       origin.model_path.empty() ? "" : fmt::format(", it was at {}", origin.model_path),
       looked.empty() ? "" : fmt::format("; another one is at {}", looked));
}

io::ImageSize trained_size(const Loaded& nvs) {
  constexpr int64_t kUsualSide = 256;
  if (const auto trained = models::trained_size(nvs.path)) return *trained;
  const int64_t patch = nvs.model->config().decoded_patch();
  const int64_t side = std::max(patch, kUsualSide / patch * patch);
  return {side, side};
}

data::FrameChoice trained_frame(const Loaded& nvs) {
  const std::string word = models::read_nvs_training(nvs.path).frame;
  auto choice = data::FrameChoice::mean_pose;
  if (!word.empty()) options::read(options::Json(word), choice, "frame");
  return choice;
}

}  // namespace lact::tasks::nvs
