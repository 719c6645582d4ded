#include "lact/models/nvs/folder.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/json_text.h"
#include "lact/base/out_of_memory.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/checkpoint.h"
#include "lact/models/common/config_file.h"
#include "lact/models/common/weights_fit.h"
#include "lact/models/nvs/long_lrm.h"
#include "lact/models/nvs/weights.h"
#include "lact/nn/init.h"

namespace lact::models {

namespace {

const char* const kNvsType = "lact_nvs";

using Tensors = std::map<std::string, at::Tensor>;

ForeignNames nvs_names(const ViewModel& model) {
  if (model.config().is_long_lrm()) {
    ForeignNames published = long_lrm_names(model.config());
    return covers(published, model) ? published : own_names(model);
  }
  const auto theirs = to_authors(model.config());
  return theirs ? foreign_names(*theirs) : own_names(model);
}

Tensors read_nvs_checkpoint(const std::string& file, const NvsConfig* config = nullptr) {
  const bool long_lrm = config != nullptr && config->is_long_lrm();
  return read_checkpoint(file, long_lrm ? "tokenizer.weight" : "input_linear.weight", "view-synthesis model");
}

std::shared_ptr<ViewModel> without_values(const NvsConfig& config) {
  const nn::SkipInit skip;
  return make_view_model(config);
}

/// As they were before models had heads and Long-LRM, where they have none of it.
options::Json fingerprinted_fields(const NvsConfig& config) {
  options::Json fields = options::write(config);
  if (!config.is_long_lrm()) fields.erase("long_lrm");
  if (!config.has_gaussians()) {
    fields.erase("head");
    fields.erase("gaussians");
  }
  return fields;
}

}  // namespace

bool describes_nvs(const options::Json& json) {
  return json.contains("block_config") || (json.contains("model_type") && json["model_type"] == kNvsType);
}

NvsConfig nvs_config_of(const options::Json& json, const std::string& file) {
  LACT_CHECK(json.is_object() && describes_nvs(json),
             "{}: model_type is not {}, so it is no view-synthesis model", file, kNvsType);
  if (json.contains("block_config")) {
    return about_file(file, [&] { return translate(read_authors_nvs(json, "")); });
  }
  return own_config<NvsConfig>(json, file);
}

NvsConfig read_nvs_config(const std::string& folder) { return read_config_by(folder, nvs_config_of); }

NvsTraining read_nvs_training(const std::string& folder_or_file) {
  NvsTraining training;
  if (std::filesystem::is_regular_file(folder_or_file)) return training;
  const auto [file, json] = read_config_file(folder_or_file);
  LACT_CHECK(json.is_object(), "{}: is not an object", file);
  std::vector<int64_t> sides;
  about_file(file, [&, &json = json] {
    if (json.contains("image_size")) options::read(json["image_size"], sides, "image_size");
    if (json.contains("frame")) options::read(json["frame"], training.frame, "frame");
  });
  if (!json.contains("image_size")) return training;
  LACT_CHECK(sides.size() == 2 && sides[0] > 0 && sides[1] > 0,
             "{}: image_size is {}, expected [height, width]", file, shown_json(json["image_size"]));
  training.image_size = io::ImageSize{sides[0], sides[1]};
  return training;
}

std::shared_ptr<ViewModel> load_nvs(const std::string& folder_or_file) {
  if (std::filesystem::is_regular_file(folder_or_file)) {
    Tensors tensors = read_nvs_checkpoint(folder_or_file);
    const AuthorsNvsModel theirs = sizes_of_checkpoint(tensors, folder_or_file);
    auto model = without_values(translate(theirs));
    adopt_foreign(*model, foreign_names(theirs), folder_or_file, std::move(tensors));
    return model;
  }
  const NvsConfig config = read_nvs_config(folder_or_file);
  check_weights_fit(folder_or_file, cost(config));
  auto model = making(folder_or_file + ": the model's weights", [&] { return without_values(config); });
  adopt_foreign(*model, nvs_names(*model), folder_or_file, io::read_tensor_folder(folder_or_file));
  return model;
}

bool can_begin_with(const NvsConfig& config, const NvsConfig& known) {
  NvsConfig same = config;
  if (config.has_gaussians()) {
    same.head = known.head;
    same.gaussians = known.gaussians;
  }
  if (known.ray_points.count == 0) same.ray_points = known.ray_points;
  return same == known;
}

namespace {

/// Of a folder; of a file nothing is known before it is read.
std::optional<NvsConfig> read_config_of_any(const std::string& folder_or_file) {
  if (std::filesystem::is_regular_file(folder_or_file)) return std::nullopt;
  return read_nvs_config(folder_or_file);
}

}  // namespace

BegunModel load_nvs_as(const NvsConfig& config, const std::string& folder_or_file) {
  if (read_config_of_any(folder_or_file) == config) return {load_nvs(folder_or_file)};
  std::shared_ptr<ViewModel> known;
  {
    const nn::LendingScope kept_here(nullptr);  // only for as long as it takes to copy
    known = load_nvs(folder_or_file);
  }
  LACT_CHECK(
      can_begin_with(config, known->config()),
      "{}: is another model than the one that is to begin with its weights: only head and gaussians may "
      "differ, and ray_points where it has none",
      folder_or_file);
  const bool same_decoder =
      config.head == known->config().head && config.output_channels() == known->config().output_channels();
  auto model = make_view_model(config);
  at::NoGradGuard no_grad;
  const auto weights = known->named_parameters();
  for (const auto& item : model->named_parameters()) {
    if (!nn::is_held(item.value()) || (item.key() == "decoder.weight" && !same_decoder)) continue;
    const at::Tensor& weight = weights[item.key()];
    if (item.key() == "input.weight") {  // points on rays come after the pixels
      item.value().zero_().narrow(1, 0, weight.size(1)).copy_(weight);
    } else {
      item.value().copy_(weight);
    }
  }
  return {model, !same_decoder};
}

void load_nvs_weights(ViewModel& model, const std::string& file) {
  load_foreign(model, nvs_names(model), read_nvs_checkpoint(file, &model.config()), file);
}

void save_nvs_config(const std::string& folder, const NvsConfig& config, const NvsTraining& training) {
  options::Json notes = options::Json::object();
  if (training.image_size) notes["image_size"] = {training.image_size->height, training.image_size->width};
  if (!training.frame.empty()) notes["frame"] = training.frame;
  write_config_file(folder, kNvsType, options::write(config), notes);
}

void save_nvs(const std::string& folder, const ViewModel& model, at::ScalarType type,
              const NvsTraining& training) {
  LACT_CHECK(type == at::kFloat || type == at::kBFloat16,
             "{}: weights are saved as float32 or bfloat16, not as {}", folder, toString(type));
  save_nvs_config(folder, model.config(), training);
  Tensors tensors = export_foreign(model, nvs_names(model));
  for (auto& [name, tensor] : tensors) tensor = tensor.to(type);
  io::write_tensor_folder(folder, tensors);
}

std::string fingerprint(const ViewModel& model) {
  return fingerprint_of(model, fingerprinted_text(fingerprinted_fields(model.config()), /*had_mixer=*/true));
}

}  // namespace lact::models
