// A model of any task: by name (a preset), from a file, and back. Our files have a field "task" (lm, nvs or
// video) and the fields of that task's config; what they do not mention keeps its default. The config.json of
// a model folder, Wan's, and the authors' JSON and YAML are taken as they are.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lact/base/options.h"
#include "lact/models/lm/config.h"
#include "lact/models/nvs/config.h"
#include "lact/models/video/config.h"

namespace lact::models {

enum class Task { lm, nvs, video };
constexpr std::array<std::pair<Task, std::string_view>, 3> enum_names(Task) {
  return {{{Task::lm, "lm"}, {Task::nvs, "nvs"}, {Task::video, "video"}}};
}

/// In the order of Task.
using ModelConfig = std::variant<LmConfig, NvsConfig, VideoConfig>;

inline Task task_of(const ModelConfig& config) { return Task(config.index()); }

struct Preset {
  std::string name;
  std::string summary;
  ModelConfig (*make)();
};

const std::vector<Preset>& presets();

/// Throws a sentence with the nearest name.
ModelConfig preset(const std::string& name);

options::Json write_config(const ModelConfig& config);

/// The text of a config file: write_config, indented, with a final newline.
std::string config_text(const ModelConfig& config);

/// Any of these; errors name `file`.
ModelConfig read_config(const options::Json& json, const std::string& file = "the config");

/// A preset's name, or the path of a file or model folder: whatever contains a slash, ends in ".json" or
/// ".yaml", or is a folder and no preset. Then the assignments, such as "layer.memory.num_heads=2", in their
/// order. Throws one sentence for sizes that cannot work.
ModelConfig resolve_config(const std::string& name_or_file, const std::vector<std::string>& assignments = {});

}  // namespace lact::models
