// A language model as a folder: config.json and model.safetensors, as Hugging Face tools write them. A model
// that the authors' code can express uses their names (model_type lact_swiglu); any other keeps ours
// (model_type lact).
#pragma once

#include <memory>
#include <string>

#include "lact/base/options.h"
#include "lact/models/lm/model.h"
#include "lact/ops/dispatch/precision.h"

namespace lact::models {

/// Whether a config file is that of a language model folder, by its model_type.
bool describes_lm(const options::Json& json);

/// What such a file says, the authors' or ours, unchecked; errors name `file`.
LmConfig lm_config_of(const options::Json& json, const std::string& file);

/// The config alone, checked; nothing is built.
LmConfig read_lm_config(const std::string& folder);

std::shared_ptr<LanguageModel> load_lm(const std::string& folder);

/// The folder's weights in a model of another config, such as one of a shorter window; throws a sentence
/// unless the weights are the same ones.
std::shared_ptr<LanguageModel> load_lm_as(const LmConfig& config, const std::string& folder);

/// A model for inference, and what its file says.
struct LmForInference {
  std::shared_ptr<LanguageModel> model;
  ops::WeightFormat format = ops::WeightFormat::f32;  ///< never `automatic`
  ops::WeightError error;                             ///< of the weights that were rounded
  std::string fingerprint;  ///< of the weights as they were saved; empty unless asked for
};

/// It computes in `precision`. The weights are brought into their format one by one as they are read; where
/// that is the file's own, they stay in the file (io/mapped_file.h). The format `automatic` is bf16 for a
/// file in bfloat16, and otherwise that of the precision.
LmForInference load_lm_for_inference(const std::string& folder, ops::WeightFormat format,
                                     ops::Precision precision = ops::Precision::f32,
                                     bool with_fingerprint = false);

/// Creates the folder if it is missing. Not for a model with compressed weights. The config is written first,
/// the tensors replace older ones atomically.
/// Weights are float32 or bfloat16.
void save_lm(const std::string& folder, const LanguageModel& model, at::ScalarType type = at::kFloat);
void save_lm_config(const std::string& folder, const LmConfig& config, at::ScalarType type = at::kFloat);

/// 16 hexadecimal digits that differ when any weight or size differs. Taken before weights are compressed, or
/// by load_lm_for_inference: the model is then still the same one.
std::string fingerprint(const LanguageModel& model);

}  // namespace lact::models
