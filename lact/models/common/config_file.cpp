#include "lact/models/common/config_file.h"

#include <algorithm>
#include <filesystem>

#include "lact/io/atomic_file.h"
#include "lact/ttt/update_rule.h"

namespace lact::models {

namespace {

/// Without the parts that earlier versions did not have, unless the mixer names them.
options::Json without_unused(const options::Json& parts, const std::string& mixer) {
  constexpr std::string_view kLater[] = {"gla", "deltanet", "mamba2", "perceiver", "ttt"};
  options::Json used = options::Json::object();
  for (const auto& [key, value] : parts.items()) {
    const bool later = std::find(std::begin(kLater), std::end(kLater), key) != std::end(kLater);
    if (!later || mixer.find(key) != std::string::npos) used[key] = value;
  }
  return used;
}

/// Without switches that earlier versions did not have, where they are off.
void leave_out_unset_switches(options::Json& config) {
  if (!config.is_object()) return;
  if (const auto update = config.find("update"); update != config.end()) {
    const options::Json unset = options::write(ttt::UpdateRule{});
    for (const char* name : {"steps", "ascent", "written", "elastic"}) {
      if (update->contains(name) && (*update)[name] == unset[name]) update->erase(name);
    }
  }
  if (config.value("prediction", "") == "velocity") config.erase("prediction");
  for (auto& item : config.items()) leave_out_unset_switches(item.value());
}

std::string config_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "config.json").string();
}

}  // namespace

std::string ConfigFile::type() const {
  const bool stated = json.is_object() && json.contains("model_type") && json["model_type"].is_string();
  return stated ? json["model_type"].get<std::string>() : "";
}

options::Json ConfigFile::notes() const {
  options::Json notes = json;
  notes.erase("model_type");
  notes.erase("model");
  return notes;
}

ConfigFile read_config_file(const std::string& folder) {
  LACT_CHECK(std::filesystem::is_directory(folder), "{}: is not a model folder", folder);
  return {config_path(folder), options::read_json_file(config_path(folder))};
}

options::Json in_todays_words(options::Json config) {
  if (!config.is_object() || !config.contains("layer") || !config["layer"].is_object()) return config;
  const options::Json kind = config["layer"].value("memory_kind", options::Json());
  if (kind != "lact" && kind != "none") return config;
  config["layer"].erase("memory_kind");
  if (kind == "none") {
    LACT_CHECK(!config.contains("mixer"), "layer.memory_kind is none, which is mixer window, but mixer is {}",
               config["mixer"].dump());
    config["mixer"] = "window";
  }
  return config;
}

std::string fingerprinted_text(options::Json config, bool had_mixer) {
  const std::string mixer = config["mixer"].get<std::string>();
  config = without_unused(config, mixer);
  leave_out_unset_switches(config);
  if (!had_mixer && (mixer == "lact" || mixer == "window")) config.erase("mixer");
  if (!config.contains("layer")) return config.dump();
  options::Json layer = options::Json::object();
  const options::Json used = without_unused(config["layer"], mixer);
  for (const auto& [key, value] : used.items()) {
    layer[key] = value;
    if (key == "attention") layer["memory_kind"] = !had_mixer && mixer == "window" ? "none" : "lact";
  }
  config["layer"] = layer;
  return config.dump();
}

void write_config_file(const std::string& folder, const options::Json& json) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  LACT_CHECK(!error, "{}: cannot be created: {}", folder, error.message());
  io::write_file_atomically(config_path(folder),
                            [&](io::FileWriter& file) { file.write(json.dump(2) + "\n"); });
}

void write_config_file(const std::string& folder, const std::string& type, const options::Json& model,
                       const options::Json& notes) {
  options::Json json = {{"model_type", type}, {"model", model}};
  for (const auto& [key, value] : notes.items()) {
    LACT_CHECK(!json.contains(key), "{}: a note cannot be called {}", folder, key);
    json[key] = value;
  }
  write_config_file(folder, json);
}

}  // namespace lact::models
