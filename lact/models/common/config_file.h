// The config.json of a model folder: {"model_type": ..., "model": {the fields of a config}}.
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

/// The "model_type" and the "model" of a folder's config.json.
struct ConfigFile {
  std::string file, type;
  options::Json model;
};
ConfigFile read_config_file(const std::string& folder);

/// Creates the folder if it is missing; the file appears whole.
void write_config_file(const std::string& folder, const std::string& type, const options::Json& model);

/// The config of a folder of this type, checked; errors name the file. `what` is for the sentence about
/// another type: "video autoencoder".
template <class Config>
Config read_config_of(const std::string& folder, const std::string& type, const std::string& what) {
  const ConfigFile found = read_config_file(folder);
  LACT_CHECK(found.type == type, "{}: model_type is {}, expected {}, so it is no {}", found.file, found.type,
             type, what);
  Config config;
  about_file(found.file, [&] {
    options::read(found.model, config, "model");
    config.check();
  });
  return config;
}

}  // namespace lact::models
