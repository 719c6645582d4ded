#include "lact/models/lm/folder.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/fnv.h"
#include "lact/io/atomic_file.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/lm/weights.h"

namespace lact::models {

namespace fs = std::filesystem;
using options::Json;

namespace {

const char* const kAuthors = "lact_swiglu";
const char* const kOurs = "lact";

/// Lets the parameters be the tensors of a file, where they are the same but for the name. What is left gets
/// memory of its own, which nothing has written yet.
void adopt(torch::nn::Module& model, const ForeignNames& names,
           const std::map<std::string, at::Tensor>& tensors) {
  const auto parameters = model.named_parameters();
  for (const auto& [foreign, ours, view] : names.tensors()) {
    at::Tensor parameter = parameters[ours];
    const auto found = tensors.find(foreign);
    const bool same = found != tensors.end() && view(parameter).is_same(parameter) &&
                      found->second.sizes() == parameter.sizes() &&
                      found->second.scalar_type() == parameter.scalar_type();
    if (same) parameter.set_data(found->second);
  }
  for (const auto& item : parameters) {
    at::Tensor parameter = item.value();
    if (!parameter.is_contiguous()) parameter.set_data(at::empty(parameter.sizes(), parameter.options()));
  }
}

/// Keeps the shapes of the parameters and frees their memory.
void empty_parameters(torch::nn::Module& model) {
  for (at::Tensor parameter : model.parameters()) {
    if (parameter.numel() > 1)
      parameter.set_data(at::zeros({1}, parameter.options()).expand(parameter.sizes()));
  }
}

ForeignNames names_for(const LmConfig& config, const torch::nn::Module& model) {
  const auto theirs = to_authors(config);
  return theirs ? foreign_names(*theirs) : own_names(model);
}

}  // namespace

LmConfig read_lm_config(const std::string& folder) {
  LACT_CHECK(fs::is_directory(folder), "{}: is not a model folder", folder);
  const std::string file = (fs::path(folder) / "config.json").string();
  const Json json = options::read_json_file(file);
  LACT_CHECK(json.is_object() && json.contains("model_type") && json["model_type"].is_string(),
             "{}: has no model_type, expected {} or {}", file, kAuthors, kOurs);
  const std::string type = json["model_type"].get<std::string>();
  LmConfig config;
  if (type == kAuthors) {
    config = translate(read_authors_lm(json, file));
  } else {
    LACT_CHECK(type == kOurs, "{}: model_type is \"{}\", expected {} or {}", file, type, kAuthors, kOurs);
    LACT_CHECK(json.contains("model"), "{}: has no field model", file);
    try {
      options::read(json["model"], config, "model");
    } catch (const Error& error) {
      fail("{}: {}", file, error.what());
    }
  }
  try {
    config.check();
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
  return config;
}

std::shared_ptr<LanguageModel> load_lm(const std::string& folder) {
  const LmConfig config = read_lm_config(folder);
  auto model = std::make_shared<LanguageModel>(config);
  // So that the model and the file are never both in memory.
  empty_parameters(*model);
  const auto tensors = io::read_tensor_folder(folder);
  const ForeignNames names = names_for(config, *model);
  adopt(*model, names, tensors);
  load_foreign(*model, names, tensors, folder);
  return model;
}

void save_lm_config(const std::string& folder, const LmConfig& config) {
  std::error_code error;
  fs::create_directories(folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", folder, error.message());
  Json json;
  if (const auto theirs = to_authors(config)) {
    json = {{"architectures", {"LaCTForCausalLM"}}, {"model_type", kAuthors}, {"torch_dtype", "float32"}};
    const Json fields = options::write(*theirs);
    for (const auto& [key, value] : fields.items()) json[key] = value;
  } else {
    json = {{"model_type", kOurs}, {"model", options::write(config)}};
  }
  io::write_file_atomically((fs::path(folder) / "config.json").string(),
                            [&](io::FileWriter& file) { file.write(json.dump(2) + "\n"); });
}

void save_lm(const std::string& folder, const LanguageModel& model) {
  LACT_CHECK(!model.is_compressed(), "{}: a model with compressed weights cannot be saved", folder);
  save_lm_config(folder, model.config());
  io::write_tensor_folder(folder, export_foreign(model, names_for(model.config(), model)));
}

std::string fingerprint(const LanguageModel& model) {
  LACT_CHECK(!model.is_compressed(),
             "[lm] the fingerprint of a model is taken before its weights are compressed");
  Fnv1a hash;
  hash.update(options::write(model.config()).dump());
  for (const auto& item : model.named_parameters()) {
    const at::Tensor tensor = item.value().detach().to(at::kCPU).contiguous();
    hash.update(item.key());
    hash.update_words(tensor.data_ptr(), size_t(tensor.numel()) * tensor.element_size());
  }
  return hash.hex();
}

}  // namespace lact::models
