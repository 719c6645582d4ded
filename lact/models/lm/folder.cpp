#include "lact/models/lm/folder.h"

#include <ATen/ATen.h>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/config_file.h"
#include "lact/models/common/weights_fit.h"
#include "lact/models/lm/weights.h"
#include "lact/nn/init.h"

namespace lact::models {

using options::Json;

namespace {

const char* const kAuthors = "lact_swiglu";
const char* const kOurs = "lact";

ForeignNames names_for(const LmConfig& config, const torch::nn::Module& model) {
  const auto theirs = to_authors(config);
  return theirs ? foreign_names(*theirs) : own_names(model);
}

/// What `automatic` means for these tensors.
ops::WeightFormat format_for(ops::WeightFormat format, ops::Precision precision,
                             const std::map<std::string, at::Tensor>& tensors) {
  if (format != ops::WeightFormat::automatic) return format;
  int64_t halves = 0, all = 0;
  for (const auto& [name, tensor] : tensors) {
    all += tensor.numel();
    if (tensor.scalar_type() == at::kBFloat16) halves += tensor.numel();
  }
  const bool fewer = 2 * halves > all || ops::resolved(precision) == ops::Precision::bf16;
  return fewer ? ops::WeightFormat::bf16 : ops::WeightFormat::f32;
}

}  // namespace

bool describes_lm(const Json& json) {
  return json.contains("model_type") && (json["model_type"] == kAuthors || json["model_type"] == kOurs);
}

LmConfig lm_config_of(const Json& json, const std::string& file) {
  LACT_CHECK(json.is_object() && json.contains("model_type") && json["model_type"].is_string(),
             "{}: has no model_type, expected {} or {}", file, kAuthors, kOurs);
  LACT_CHECK(describes_lm(json), "{}: model_type is {}, expected {} or {}", file, json["model_type"].dump(),
             kAuthors, kOurs);
  if (json["model_type"] == kAuthors) {
    const AuthorsLm theirs = read_authors_lm(json, file);
    return about_file(file, [&] { return translate(theirs); });
  }
  return own_config<LmConfig>(json, file);
}

LmConfig read_lm_config(const std::string& folder) { return read_config_by(folder, lm_config_of); }

std::shared_ptr<LanguageModel> load_lm(const std::string& folder) {
  return load_lm_for_inference(folder, ops::WeightFormat::f32).model;
}

std::shared_ptr<LanguageModel> load_lm_as(const LmConfig& config, const std::string& folder) {
  const auto known = load_lm(folder);
  if (config == known->config()) return known;
  const auto model =
      making(folder + ": the model's weights", [&] { return nn::make_uninitialised<LanguageModel>(config); });
  const char* const rule = "what is changed may not change the weights, expected fields such as window_size";
  const at::NoGradGuard no_grad;
  auto theirs = known->named_parameters();
  for (const auto& ours : model->named_parameters()) {
    const at::Tensor* found = theirs.find(ours.key());
    LACT_CHECK(found, "{}: has no weight {}: {}", folder, ours.key(), rule);
    LACT_CHECK(found->sizes() == ours.value().sizes(), "{}: its weight {} has shape {}, not {}: {}", folder,
               ours.key(), found->sizes(), ours.value().sizes(), rule);
    ours.value().copy_(*found);
  }
  LACT_CHECK(theirs.size() == model->named_parameters().size(), "{}: has {} weights, not {}: {}", folder,
             theirs.size(), model->named_parameters().size(), rule);
  return model;
}

LmForInference load_lm_for_inference(const std::string& folder, ops::WeightFormat format,
                                     ops::Precision precision, bool with_fingerprint) {
  const LmConfig config = read_lm_config(folder);
  check_weights_fit(folder, cost(config));
  auto tensors = io::read_tensor_folder(folder);
  format = format_for(format, precision, tensors);
  LmForInference loaded;
  loaded.format = format;
  loaded.model =
      making(folder + ": the model's weights", [&] { return nn::make_uninitialised<LanguageModel>(config); });
  loaded.model->set_compute_type(ops::compute_type(precision));
  Fingerprint fingerprint(fingerprinted_text(options::write(config), /*had_mixer=*/false));
  const auto compress = [&](const std::string& name, const at::Tensor& values) {
    if (with_fingerprint) fingerprint.add(name, values);
    if (format == ops::WeightFormat::f32) return false;
    const auto error = loaded.model->compress_weight(name, format);
    if (error) loaded.error += *error;
    return error.has_value();
  };
  adopt_foreign(*loaded.model, names_for(config, *loaded.model), folder, std::move(tensors), compress);
  if (with_fingerprint) loaded.fingerprint = fingerprint.hex();
  return loaded;
}

void save_lm_config(const std::string& folder, const LmConfig& config, at::ScalarType type) {
  const auto theirs = to_authors(config);
  if (!theirs) return write_config_file(folder, kOurs, options::write(config));
  Json json = {{"architectures", {"LaCTForCausalLM"}},
               {"model_type", kAuthors},
               {"torch_dtype", type == at::kBFloat16 ? "bfloat16" : "float32"}};
  const Json fields = options::write(*theirs);
  for (const auto& [key, value] : fields.items()) json[key] = value;
  write_config_file(folder, json);
}

void save_lm(const std::string& folder, const LanguageModel& model, at::ScalarType type) {
  LACT_CHECK(type == at::kFloat || type == at::kBFloat16,
             "{}: weights are saved as float32 or bfloat16, not as {}", folder, toString(type));
  LACT_CHECK(!model.is_compressed(), "{}: a model with compressed weights cannot be saved", folder);
  save_lm_config(folder, model.config(), type);
  auto tensors = export_foreign(model, names_for(model.config(), model));
  for (auto& [name, tensor] : tensors) tensor = tensor.to(type);
  io::write_tensor_folder(folder, tensors);
}

std::string fingerprint(const LanguageModel& model) {
  LACT_CHECK(!model.is_compressed(),
             "[lm] the fingerprint of a model is taken before its weights are compressed");
  return fingerprint_of(model, fingerprinted_text(options::write(model.config()), /*had_mixer=*/false));
}

}  // namespace lact::models
