#include "lact/models/video/folder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/checkpoint.h"
#include "lact/models/common/config_file.h"
#include "lact/models/common/weights_fit.h"
#include "lact/models/video/authors_config.h"
#include "lact/models/video/weights.h"
#include "lact/nn/init.h"

namespace lact::models {

namespace {

const char* const kVideoType = "lact_video";
const char* const kWanClass = "WanModel";
const char* const kWanStem = "diffusion_pytorch_model";

using Tensors = std::map<std::string, at::Tensor>;

bool says(const options::Json& json, const char* field, const char* word) {
  return json.is_object() && json.contains(field) && json[field] == word;
}

void check_describes_video(const options::Json& json, const std::string& file) {
  LACT_CHECK(json.is_object() && describes_video(json),
             "{}: model_type is not {} and _class_name is not {}, so it is no video model", file, kVideoType,
             kWanClass);
}

struct VideoFolder : ConfigFile {
  bool is_wan = false;
};

VideoFolder open_video_folder(const std::string& folder) {
  VideoFolder opened = {read_config_file(folder)};
  check_describes_video(opened.json, opened.file);
  opened.is_wan = says(opened.json, "_class_name", kWanClass);
  return opened;
}

VideoConfig config_of(const VideoFolder& folder) {
  const VideoConfig config = video_config_of(folder.json, folder.file);
  about_file(folder.file, [&] { config.check(); });
  return config;
}

Tensors tensors_of(const VideoFolder& opened, const std::string& folder) {
  return opened.is_wan ? io::read_tensor_folder(folder, kWanStem) : io::read_tensor_folder(folder);
}

/// A model without values for the weights of this folder.
std::shared_ptr<VideoModel> video_model_for(const VideoConfig& config, const VideoFolder& opened,
                                            const std::string& folder) {
  check_weights_fit(folder, cost(config), opened.is_wan ? kWanStem : "model");
  return making(folder + ": the model's weights", [&] { return nn::make_uninitialised<VideoModel>(config); });
}

/// "block12.mixer.memory.rate.weight" -> 12
int64_t block_of(const std::string& parameter) {
  return std::stoll(parameter.substr(std::string("block").size()));
}

/// Wan's names, the authors' for LaCT, and ours for other memories.
ForeignNames video_names(const VideoModel& model) {
  ForeignNames names = foreign_names(model.config());
  for (const auto& item : model.named_parameters()) {
    const std::string& ours = item.key();
    if (!is_memory_parameter(ours)) continue;
    if (model.config().mixer.kind_of(block_of(ours)) != MixerKind::lact) names.same(ours, ours);
  }
  return covers(names, model) ? names : own_names(model);
}

/// Whether the tensors are Wan's, which has no memory.
bool lacks_memory(const VideoModel& model, const Tensors& tensors) {
  bool has = false, given = false;
  const ForeignNames names = video_names(model);
  for (const auto& [foreign, ours, view] : names.tensors()) {
    if (!is_memory_parameter(ours)) continue;
    has = true;
    given = given || tensors.count(foreign) > 0;
  }
  return has && !given;
}

/// The memory's parameters as they are in the model, added to tensors of Wan.
Tensors with_memory_of(const VideoModel& model, Tensors tensors) {
  const auto parameters = model.named_parameters();
  const ForeignNames names = video_names(model);
  for (const auto& [foreign, ours, view] : names.tensors())
    if (is_memory_parameter(ours)) tensors[foreign] = view(parameters[ours].detach());
  return tensors;
}

/// A model without values gets these. The memory's parameters have their initial ones where the tensors are
/// Wan's.
std::shared_ptr<VideoModel> filled(std::shared_ptr<VideoModel> model, Tensors tensors,
                                   const std::string& file) {
  if (lacks_memory(*model, tensors)) {
    model = std::make_shared<VideoModel>(model->config());
    tensors = with_memory_of(*model, std::move(tensors));
  }
  adopt_foreign(*model, video_names(*model), file, std::move(tensors));
  return model;
}

}  // namespace

bool describes_video(const options::Json& json) {
  return says(json, "model_type", kVideoType) || says(json, "_class_name", kWanClass) ||
         is_authors_video(json);
}

VideoConfig video_config_of(const options::Json& json, const std::string& file) {
  check_describes_video(json, file);
  if (says(json, "model_type", kVideoType)) return own_config<VideoConfig>(json, file);
  return about_file(file, [&] {
    if (is_authors_video(json)) return read_authors_video(json);
    options::Json fields = json;
    fields.erase("_class_name");
    fields.erase("_diffusers_version");
    WanModel theirs;
    options::read(fields, theirs);
    return translate(theirs);
  });
}

VideoConfig read_video_config(const std::string& folder) { return config_of(open_video_folder(folder)); }

options::Json read_video_notes(const std::string& folder) {
  const VideoFolder opened = open_video_folder(folder);
  return opened.is_wan ? options::Json::object() : opened.notes();
}

std::shared_ptr<VideoModel> load_video(const std::string& folder) {
  const VideoFolder opened = open_video_folder(folder);
  auto model = video_model_for(config_of(opened), opened, folder);
  Tensors tensors = tensors_of(opened, folder);
  if (opened.is_wan) return filled(model, std::move(tensors), folder);
  adopt_foreign(*model, video_names(*model), folder, std::move(tensors));
  return model;
}

std::shared_ptr<VideoModel> load_video_as(const VideoConfig& config, const std::string& folder) {
  const VideoFolder opened = open_video_folder(folder);
  if (config == config_of(opened)) return load_video(folder);
  auto model = video_model_for(config, opened, folder);
  Tensors tensors = tensors_of(opened, folder);
  const VideoConfig theirs = config_of(opened);
  // The memory of a block that has another mixer here than there.
  const auto is_new = [&](const std::string& ours) {
    const int64_t layer = is_memory_parameter(ours) ? block_of(ours) : 0;
    return is_memory_parameter(ours) && config.mixer.kind_of(layer) != theirs.mixer.kind_of(layer);
  };
  const ForeignNames known = video_names(*nn::make_uninitialised<VideoModel>(theirs)),
                     wanted = video_names(*model);
  for (const auto& [foreign, ours, view] : known.tensors())
    if (is_new(ours)) tensors.erase(foreign);
  const bool begins = std::any_of(wanted.tensors().begin(), wanted.tensors().end(),
                                  [&](const auto& row) { return is_new(row.ours); });
  if (begins) {
    model = std::make_shared<VideoModel>(config);
    const auto parameters = model->named_parameters();
    for (const auto& [foreign, ours, view] : wanted.tensors())
      if (is_new(ours)) tensors[foreign] = view(parameters[ours].detach());
  }
  return filled(model, std::move(tensors), folder);
}

void load_video_weights(VideoModel& model, const std::string& file) {
  Tensors tensors = read_checkpoint(file, "patch_embedding.weight", "video model");
  if (lacks_memory(model, tensors)) tensors = with_memory_of(model, std::move(tensors));
  load_foreign(model, video_names(model), tensors, file);
}

void save_video_config(const std::string& folder, const VideoConfig& config, const options::Json& notes) {
  write_config_file(folder, kVideoType, options::write(config), notes);
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
  return fingerprint_of(model, fingerprinted_text(options::write(model.config()), /*had_mixer=*/true));
}

}  // namespace lact::models
