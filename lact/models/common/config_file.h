// The config.json of a model folder. One of ours is {"model_type": ..., "model": {the fields of a config}}
// with perhaps some notes beside them.
#pragma once

#include <string>

#include "lact/base/options.h"

namespace lact::models {

/// Runs something that is about a file, which its errors then name.
template <class Action>
auto about_file(const std::string& file, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
}

struct ConfigFile {
  std::string file;  ///< its path, for sentences
  options::Json json;

  std::string type() const;     ///< "model_type"; "" where there is none
  options::Json notes() const;  ///< of one of ours: all but model_type and model
};

/// Throws a sentence unless there is a folder with such a file.
ConfigFile read_config_file(const std::string& folder);

/// Creates the folder if it is missing; the file appears whole.
void write_config_file(const std::string& folder, const options::Json& json);
void write_config_file(const std::string& folder, const std::string& type, const options::Json& model,
                       const options::Json& notes = options::Json::object());

/// A config of an earlier version in today's words: layer.memory_kind lact is what a mixer is anyway, none is
/// mixer window.
options::Json in_todays_words(options::Json config);

/// The text of a config that a fingerprint covers: as earlier versions wrote it, where they had words for the
/// model, so that memory files which they made still name it. `had_mixer`: they had this model's field mixer.
std::string fingerprinted_text(options::Json config, bool had_mixer);

/// The config of a file of ours, not checked; errors name the file.
template <class Config>
Config own_config(const options::Json& json, const std::string& file) {
  LACT_CHECK(json.contains("model"), "{}: has no field model", file);
  Config config;
  about_file(file, [&] { options::read(in_todays_words(json["model"]), config, "model"); });
  return config;
}

/// What `config_of(json, file)` makes of a folder's file, checked; errors name the file.
template <class ConfigOf>
auto read_config_by(const std::string& folder, const ConfigOf& config_of) {
  const ConfigFile found = read_config_file(folder);
  const auto config = config_of(found.json, found.file);
  about_file(found.file, [&] { config.check(); });
  return config;
}

/// The config of a folder of this type, checked. `what` is for the sentence about another type: "video
/// autoencoder".
template <class Config>
Config read_config_of(const std::string& folder, const std::string& type, const std::string& what) {
  return read_config_by(folder, [&](const options::Json& json, const std::string& file) {
    const std::string found = ConfigFile{file, json}.type();
    LACT_CHECK(!found.empty(), "{}: has no model_type", file);
    LACT_CHECK(found == type, "{}: model_type is {}, expected {}, so it is no {}", file, found, type, what);
    return own_config<Config>(json, file);
  });
}

}  // namespace lact::models
