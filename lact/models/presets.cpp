#include "lact/models/presets.h"

#include <algorithm>
#include <filesystem>

#include "lact/io/yaml.h"
#include "lact/models/common/config_file.h"
#include "lact/models/lm/folder.h"
#include "lact/models/lm/presets.h"
#include "lact/models/nvs/folder.h"
#include "lact/models/nvs/presets.h"
#include "lact/models/video/folder.h"
#include "lact/models/video/presets.h"

namespace lact::models {

namespace {

ModelConfig default_config(Task task) {
  switch (task) {
    case Task::lm:
      return LmConfig{};
    case Task::nvs:
      return NvsConfig{};
    case Task::video:
      return VideoConfig{};
  }
  return {};
}

bool is_yaml(const std::string& name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

bool is_preset(const std::string& name) {
  return std::any_of(presets().begin(), presets().end(), [&](const Preset& row) { return row.name == name; });
}

/// A path, unless it can only be the name of a preset.
bool is_path(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json") || is_yaml(name)) return true;
  return !is_preset(name) && std::filesystem::is_directory(name);
}

ModelConfig read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    const ConfigFile found = read_config_file(path);
    return read_config(found.json, found.file);
  }
  return read_config(is_yaml(path) ? io::read_yaml_file(path) : options::read_json_file(path), path);
}

template <auto function>
ModelConfig make() {
  return function();
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> rows = {
      {"lm_tiny", "bytes; trains on a processor", make<lm_tiny>},
      {"lm_recall", "learns the built-in recall text in minutes", make<lm_recall>},
      {"lm_small", "a first model of words", make<lm_small>},
      {"lm_760m", "the paper's smaller language model", make<lm_760m>},
      {"lm_3b_paper", "the larger one, as in the paper: windows of 4096", make<lm_3b_paper>},
      {"lm_3b_code", "the larger one, as in the authors' config: windows of 2048", make<lm_3b_code>},
      {"lm_760m_full", "the Transformer of that size", make<lm_760m_full>},
      {"lm_760m_window", "window attention alone", make<lm_760m_window>},
      {"lm_760m_gla", "gated linear attention and the window", make<lm_760m_gla>},
      {"lm_760m_deltanet", "DeltaNet and the window", make<lm_760m_deltanet>},
      {"lm_3b_full", "the Transformer of that size", make<lm_3b_full>},
      {"lm_3b_window", "window attention alone", make<lm_3b_window>},
      {"lm_3b_gla", "gated linear attention and the window", make<lm_3b_gla>},
      {"lm_3b_deltanet", "DeltaNet and the window", make<lm_3b_deltanet>},
      {"nvs_tiny", "the smallest, for quick trials", make<nvs_tiny>},
      {"nvs_small", "trains on a processor", make<nvs_small>},
      {"nvs_14_layers", "the paper's ablations", make<nvs_14_layers>},
      {"nvs_312m", "the paper's main model", make<nvs_312m>},
      {"nvs_4x", "twice the state of the main model", make<nvs_4x>},
      {"nvs_full", "full attention between views", make<nvs_full>},
      {"nvs_perceiver", "4096 registers between views", make<nvs_perceiver>},
      {"nvs_mamba2", "Mamba-2 in both directions over the input views", make<nvs_mamba2>},
      {"nvs_long_lrm", "Long-LRM: Gaussians by Mamba-2 blocks and attention", make<nvs_long_lrm>},
      {"nvs_long_lrm_tiny", "the same, trains on a processor", make<nvs_long_lrm_tiny>},
      {"video_recall", "learns within minutes what comes back in tiny clips", make<video_recall>},
      {"video_tiny", "trains on a processor", make<video_tiny>},
      {"video_small", "clips of 256 x 256 pixels", make<video_small>},
      {"video_1_3b", "Wan 2.1 1.3B with LaCT", make<video_1_3b>},
      {"video_1_3b_full", "block-causal attention to all chunks", make<video_1_3b_full>},
      {"video_1_3b_window", "attention to the chunk before alone", make<video_1_3b_window>},
      {"video_1_3b_mamba2", "Mamba-2 and the window", make<video_1_3b_mamba2>},
      {"video_14b", "Wan 2.1 14B with LaCT", make<video_14b>},
  };
  return rows;
}

ModelConfig preset(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& row : presets()) {
    if (row.name == name) return row.make();
    names.push_back(row.name);
  }
  const std::string similar = options::nearest(name, names);
  if (!similar.empty()) fail("there is no preset {}; did you mean {}?", name, similar);
  fail("there is no preset {}; there are {}", name, fmt::join(names, ", "));
}

options::Json write_config(const ModelConfig& config) {
  options::Json json = {{"task", options::word_of(task_of(config))}};
  const auto fields = std::visit([](const auto& any) { return options::write(any); }, config);
  for (const auto& [key, value] : fields.items()) json[key] = value;
  return json;
}

std::string config_text(const ModelConfig& config) { return write_config(config).dump(2) + "\n"; }

ModelConfig read_config(const options::Json& json, const std::string& file) {
  LACT_CHECK(json.is_object(), "{}: is {}, expected an object", file, json.type_name());
  if (!json.contains("task")) {
    if (describes_lm(json)) return lm_config_of(json, file);
    if (describes_nvs(json)) return nvs_config_of(json, file);
    if (describes_video(json)) return video_config_of(json, file);
    fail(
        "{}: has no field task (lm, nvs or video), and is no config.json of a model folder and no config of "
        "the "
        "authors",
        file);
  }
  return about_file(file, [&] {
    Task task{};
    options::read(json.at("task"), task, "task");
    options::Json fields = in_todays_words(json);
    fields.erase("task");
    ModelConfig config = default_config(task);
    std::visit([&](auto& any) { options::read(fields, any); }, config);
    return config;
  });
}

ModelConfig resolve_config(const std::string& name_or_file, const std::vector<std::string>& assignments) {
  ModelConfig config = is_path(name_or_file) ? read_file(name_or_file) : preset(name_or_file);
  for (const auto& assignment : assignments) {
    const options::Json json = options::parse_assignment(assignment);
    std::visit([&](auto& any) { options::read(json, any); }, config);
  }
  std::visit([](const auto& any) { any.check(); }, config);
  return config;
}

}  // namespace lact::models
