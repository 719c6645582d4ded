// A view-synthesis model as a folder, config.json and model.safetensors; or as a checkpoint that the authors
// published, a .pt or .safetensors file. A model that the authors' code can express uses their tensor names;
// any other keeps ours.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lact/models/nvs/model.h"

namespace lact::models {

/// The config alone; nothing is built.
NvsConfig read_nvs_config(const std::string& folder);

/// The size of the pictures that the model was trained on last, if the folder's config.json says so
/// ("image_size": [height, width]); nothing for a checkpoint file.
std::optional<ViewSize> trained_size(const std::string& folder_or_file);

/// A folder, or a checkpoint file; the sizes of a file are those of its tensors.
std::shared_ptr<NvsModel> load_nvs(const std::string& folder_or_file);

/// Gives a model the tensors of a checkpoint file, under the authors' names or ours; what else a .pt file
/// holds, such as an optimizer's state, is passed over.
void load_nvs_weights(NvsModel& model, const std::string& file);

/// Creates the folder if it is missing. The config is written first, the tensors replace older ones
/// atomically. `type` is float32 or bfloat16, which takes half the space.
void save_nvs(const std::string& folder, const NvsModel& model, at::ScalarType type = at::kFloat,
              std::optional<ViewSize> trained_size = {});
void save_nvs_config(const std::string& folder, const NvsConfig& config,
                     std::optional<ViewSize> trained_size = {});

/// 16 hexadecimal digits that differ when any weight or size differs.
std::string fingerprint(const NvsModel& model);

}  // namespace lact::models
