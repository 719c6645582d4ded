#include "lact/models/common/config_file.h"

#include <filesystem>

#include "lact/io/atomic_file.h"

namespace lact::models {

namespace {

std::string config_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "config.json").string();
}

}  // namespace

ConfigFile read_config_file(const std::string& folder) {
  LACT_CHECK(std::filesystem::is_directory(folder), "{}: is not a model folder", folder);
  ConfigFile result;
  result.file = config_path(folder);
  const options::Json json = options::read_json_file(result.file);
  LACT_CHECK(json.is_object() && json.contains("model_type") && json["model_type"].is_string(),
             "{}: has no model_type", result.file);
  LACT_CHECK(json.contains("model"), "{}: has no field model", result.file);
  result.type = json["model_type"].get<std::string>();
  result.model = json["model"];
  return result;
}

void write_config_file(const std::string& folder, const std::string& type, const options::Json& model) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", folder, error.message());
  const options::Json json = {{"model_type", type}, {"model", model}};
  io::write_file_atomically(config_path(folder),
                            [&](io::FileWriter& file) { file.write(json.dump(2) + "\n"); });
}

}  // namespace lact::models
