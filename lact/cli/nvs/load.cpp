#include <CLI/CLI.hpp>

#include <charconv>
#include <filesystem>

#include "lact/base/data_folder.h"
#include "lact/base/error.h"
#include "lact/base/log.h"
#include "lact/base/options.h"
#include "lact/cli/nvs/nvs.h"
#include "lact/io/image.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/scene_file.h"
#include "lact/tasks/lm/training/run.h"

namespace lact::cli {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kUsualSide = 256;  // where a model does not say what it was trained on

at::ScalarType compute_type_of(const NvsArguments& arguments) {
  train::Precision type{};
  options::read(options::Json(arguments.precision), type, "precision");
  return train::compute_type(type);
}

LoadedNvs load_nvs_from(const std::string& path, at::ScalarType compute_type) {
  LoadedNvs loaded;
  loaded.path = path;
  loaded.model = models::load_nvs(path);
  loaded.model->set_compute_type(compute_type);
  loaded.model->eval();
  loaded.fingerprint = models::fingerprint(*loaded.model);
  return loaded;
}

/// The model of a scene whose place was not given.
LoadedNvs find_model_of_scene(const std::string& file, at::ScalarType compute_type) {
  const models::SceneOrigin origin = models::read_scene_origin(file);
  std::error_code ignored;
  std::string looked;
  for (const std::string& place : {origin.model_path, shipped_nvs()}) {
    if (place.empty() || !fs::exists(place, ignored)) continue;
    try {
      LoadedNvs loaded = load_nvs_from(place, compute_type);
      if (loaded.fingerprint == origin.model_hash) return loaded;
    } catch (const Error& error) {
      log::warn("{}", error.what());
    }
    looked += (looked.empty() ? "" : ", ") + place;
  }
  fail("{}: its model ({}) was not found{}{}; --model names its folder", file, origin.model_hash,
       origin.model_path.empty() ? "" : fmt::format(", it was at {}", origin.model_path),
       looked.empty() ? "" : fmt::format("; another one is at {}", looked));
}

}  // namespace

void add_nvs_options(CLI::App& verb, NvsArguments& arguments) {
  verb.add_option("-m,--model", arguments.model,
                  "Model folder or checkpoint file; by default the weights that come with lact");
  verb.add_option("--precision", arguments.precision, "f32 or bf16")->capture_default_str();
}

std::string shipped_nvs() { return find_data_folder({"weights/nvs", "weights/nvs", "config.json"}); }

LoadedNvs load_nvs_model(const NvsArguments& arguments) {
  const at::ScalarType compute_type = compute_type_of(arguments);
  if (!arguments.model.empty()) return load_nvs_from(arguments.model, compute_type);
  const std::string shipped = shipped_nvs();
  LACT_CHECK(!shipped.empty(),
             "no weights come with this build (weights/nvs was not found); --model names a model folder, and "
             "lact nvs train makes one");
  return load_nvs_from(shipped, compute_type);
}

serve::NvsSource load_nvs_scene(const std::string& file, const NvsArguments& arguments, int64_t full_side) {
  const at::ScalarType compute_type = compute_type_of(arguments);
  const LoadedNvs nvs = arguments.model.empty() ? find_model_of_scene(file, compute_type)
                                                : load_nvs_from(arguments.model, compute_type);
  return {nvs.model, models::load_scene(file, *nvs.model, nvs.fingerprint), {file, full_side}};
}

models::ViewSize parse_view_size(const std::string& text, const std::string& option) {
  models::ViewSize size;
  const char *begin = text.data(), *end = begin + text.size();
  auto [after_height, height_error] = std::from_chars(begin, end, size.height);
  bool good = height_error == std::errc{};
  if (good && after_height == end) {
    size.width = size.height;
  } else if (good && *after_height == 'x') {
    const auto [after_width, width_error] = std::from_chars(after_height + 1, end, size.width);
    good = width_error == std::errc{} && after_width == end;
  } else {
    good = false;
  }
  LACT_CHECK(good, "{}: \"{}\" is not a size, expected a number or height x width, such as 256 or 256x384",
             option, text);
  for (const int64_t side : {size.height, size.width})
    LACT_CHECK(side >= 1 && side <= io::kMaxImageSide, "{}: a side of {} pixels, expected 1 to {}", option,
               side, io::kMaxImageSide);
  return size;
}

models::ViewSize view_size_for(const std::string& word, const LoadedNvs& nvs) {
  const int64_t patch = nvs.model->config().patch_size;
  if (!word.empty()) return parse_view_size(word, "--size");
  if (const auto trained = models::trained_size(nvs.path)) return *trained;
  const int64_t side = std::max(patch, kUsualSide / patch * patch);
  return {side, side};
}

data::FrameChoice frame_for(const std::string& given, const LoadedNvs& nvs) {
  const std::string word = given.empty() ? models::read_nvs_training(nvs.path).frame : given;
  auto choice = data::FrameChoice::mean_pose;
  if (!word.empty()) options::read(options::Json(word), choice, "frame");
  return choice;
}

void add_selection_option(CLI::App& verb, data::ViewChoice& selection) {
  static const std::map<std::string, data::ViewChoice> arguments = {{"kmeans", data::ViewChoice::kmeans},
                                                                    {"every", data::ViewChoice::every_nth},
                                                                    {"random", data::ViewChoice::random}};
  verb.add_option("--selection", selection,
                  "Which views are read: kmeans (spread over places and directions), every (n-th) or random")
      ->transform(CLI::CheckedTransformer(arguments).description(""))
      ->default_str("kmeans");
}

}  // namespace lact::cli
