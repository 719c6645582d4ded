#include "lact/models/video/folder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/io/atomic_file.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/checkpoint.h"
#include "lact/models/common/weights_fit.h"
#include "lact/models/video/weights.h"

namespace lact::models {

namespace {

const char* const kVideoType = "lact_video";
const char* const kWanClass = "WanModel";
const char* const kWanStem = "diffusion_pytorch_model";

using Tensors = std::map<std::string, at::Tensor>;

struct VideoFolder {
  std::string file;  ///< config.json
  options::Json json;
  bool is_wan = false;
};

VideoFolder open_video_folder(const std::string& folder) {
  LACT_CHECK(std::filesystem::is_directory(folder), "{}: is not a model folder", folder);
  VideoFolder opened;
  opened.file = (std::filesystem::path(folder) / "config.json").string();
  opened.json = options::read_json_file(opened.file);
  const auto says = [&](const char* field, const char* word) {
    return opened.json.is_object() && opened.json.contains(field) && opened.json[field] == word;
  };
  opened.is_wan = says("_class_name", kWanClass);
  LACT_CHECK(opened.is_wan || says("model_type", kVideoType),
             "{}: model_type is not {} and _class_name is not {}, so it is no video model", opened.file,
             kVideoType, kWanClass);
  return opened;
}

VideoConfig config_of(const VideoFolder& folder) {
  VideoConfig config;
  try {
    if (folder.is_wan) {
      options::Json json = folder.json;
      json.erase("_class_name");
      json.erase("_diffusers_version");
      WanModel theirs;
      options::read(json, theirs);
      config = translate(theirs);
    } else {
      LACT_CHECK(folder.json.contains("model"), "has no field model");
      options::read(folder.json["model"], config, "model");
    }
    config.check();
  } catch (const Error& error) {
    fail("{}: {}", folder.file, error.what());
  }
  return config;
}

/// A new model for the weights of this folder.
std::shared_ptr<VideoModel> video_model_for(const VideoConfig& config, const VideoFolder& opened,
                                            const std::string& folder) {
  check_weights_fit(folder, cost(config), opened.is_wan ? kWanStem : "model");
  return making(folder + ": the model's weights", [&] { return std::make_shared<VideoModel>(config); });
}

ForeignNames video_names(const VideoModel& model) {
  const ForeignNames names = foreign_names(model.config());
  return covers(names, model) ? names : own_names(model);
}

/// If there is no tensor of LaCT at all, the tensors are Wan's, and LaCT's parameters keep their values.
void load_wan_or_authors(VideoModel& model, Tensors tensors, const std::string& file) {
  const ForeignNames names = video_names(model);
  Tensors added;
  bool given = false;
  const auto parameters = model.named_parameters();
  for (const auto& [foreign, ours, view] : names.tensors()) {
    if (!is_lact_parameter(ours)) continue;
    given = given || tensors.count(foreign) > 0;
    added[foreign] = view(parameters[ours].detach());
  }
  if (!given) tensors.merge(added);
  load_foreign(model, names, tensors, file);
}

}  // namespace

VideoConfig read_video_config(const std::string& folder) { return config_of(open_video_folder(folder)); }

options::Json read_video_notes(const std::string& folder) {
  const VideoFolder opened = open_video_folder(folder);
  if (opened.is_wan) return options::Json::object();
  options::Json notes = opened.json;
  notes.erase("model_type");
  notes.erase("model");
  return notes;
}

std::shared_ptr<VideoModel> load_video(const std::string& folder) {
  const VideoFolder opened = open_video_folder(folder);
  auto model = video_model_for(config_of(opened), opened, folder);
  if (opened.is_wan) {
    load_wan_or_authors(*model, io::read_tensor_folder(folder, kWanStem), folder);
  } else {
    adopt_foreign(*model, video_names(*model), folder, [&] { return io::read_tensor_folder(folder); });
  }
  return model;
}

std::shared_ptr<VideoModel> load_video_as(const VideoConfig& config, const std::string& folder) {
  const VideoFolder opened = open_video_folder(folder);
  if (config == config_of(opened)) return load_video(folder);
  auto model = video_model_for(config, opened, folder);
  Tensors tensors = opened.is_wan ? io::read_tensor_folder(folder, kWanStem) : io::read_tensor_folder(folder);
  const ForeignNames theirs = video_names(VideoModel(config_of(opened)));
  for (const auto& [foreign, ours, view] : theirs.tensors())
    if (config.mixer != VideoMixer::lact && is_lact_parameter(ours)) tensors.erase(foreign);
  load_wan_or_authors(*model, std::move(tensors), folder);
  return model;
}

void load_video_weights(VideoModel& model, const std::string& file) {
  load_wan_or_authors(model, read_checkpoint(file, "patch_embedding.weight", "video model"), file);
}

void save_video_config(const std::string& folder, const VideoConfig& config, const options::Json& notes) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", folder, error.message());
  options::Json json = {{"model_type", kVideoType}, {"model", options::write(config)}};
  for (const auto& [key, value] : notes.items()) {
    LACT_CHECK(!json.contains(key), "{}: a note cannot be called {}", folder, key);
    json[key] = value;
  }
  io::write_file_atomically((std::filesystem::path(folder) / "config.json").string(),
                            [&](io::FileWriter& file) { file.write(json.dump(2) + "\n"); });
}

void save_video(const std::string& folder, const VideoModel& model, at::ScalarType type,
                const options::Json& notes) {
  LACT_CHECK(type == at::kFloat || type == at::kBFloat16,
             "{}: weights are saved as float32 or bfloat16, not as {}", folder, toString(type));
  save_video_config(folder, model.config(), notes);
  Tensors tensors = export_foreign(model, video_names(model));
  for (auto& [name, tensor] : tensors) tensor = tensor.to(type);
  io::write_tensor_folder(folder, tensors);
}

std::string fingerprint(const VideoModel& model) {
  return fingerprint_of(model, options::write(model.config()).dump());
}

}  // namespace lact::models
