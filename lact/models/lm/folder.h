// A language model as a folder: config.json and model.safetensors, as Hugging Face tools write them. A model
// that the authors' code can express uses their names (model_type lact_swiglu); any other keeps ours
// (model_type lact).
#pragma once

#include <memory>
#include <string>

#include "lact/base/options.h"
#include "lact/models/lm/model.h"

namespace lact::models {

/// Whether a config file is that of a language model folder, by its model_type.
bool describes_lm(const options::Json& json);

/// What such a file says, the authors' or ours, unchecked; errors name `file`.
LmConfig lm_config_of(const options::Json& json, const std::string& file);

/// The config alone, checked; nothing is built.
LmConfig read_lm_config(const std::string& folder);

std::shared_ptr<LanguageModel> load_lm(const std::string& folder);

/// Creates the folder if it is missing. Not for a model with compressed weights. The config is written first,
/// the tensors replace older ones atomically.
void save_lm(const std::string& folder, const LanguageModel& model);
void save_lm_config(const std::string& folder, const LmConfig& config);

/// 16 hexadecimal digits that differ when any weight or size differs. Taken before weights are compressed:
/// the model is then still the same one.
std::string fingerprint(const LanguageModel& model);

}  // namespace lact::models
