#include "lact/models/lm/folder.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/io/atomic_file.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/weights_fit.h"
#include "lact/models/lm/weights.h"

namespace lact::models {

namespace fs = std::filesystem;
using options::Json;

namespace {

const char* const kAuthors = "lact_swiglu";
const char* const kOurs = "lact";

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
  check_weights_fit(folder, cost(config));
  auto model =
      making(folder + ": the model's weights", [&] { return std::make_shared<LanguageModel>(config); });
  adopt_foreign(*model, names_for(config, *model), folder, [&] { return io::read_tensor_folder(folder); });
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
  return fingerprint_of(model, options::write(model.config()).dump());
}

}  // namespace lact::models
