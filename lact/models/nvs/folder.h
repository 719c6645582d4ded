// A view-synthesis model as a folder, config.json and model.safetensors; or as a checkpoint that the authors
// published, a .pt or .safetensors file. A model that the authors' code can express uses their tensor names;
// so does one that Long-LRM's can; any other keeps ours.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lact/base/options.h"
#include "lact/models/nvs/view_model.h"

namespace lact::models {

/// Whether a config file is that of a view-synthesis model: a folder's, or the authors' (block_config).
bool describes_nvs(const options::Json& json);

/// What such a file says, unchecked; errors name `file`.
NvsConfig nvs_config_of(const options::Json& json, const std::string& file);

/// The config alone, checked; nothing is built.
NvsConfig read_nvs_config(const std::string& folder);

/// What a model was trained on last, as far as the folder's config.json tells: how it is used best.
struct NvsTraining {
  std::optional<io::ImageSize> image_size = {};  ///< "image_size": [height, width]
  std::string frame = {};  ///< "frame": the coordinates of scenes, a word of data::FrameChoice
};

/// Nothing is known of a checkpoint file.
NvsTraining read_nvs_training(const std::string& folder_or_file);
inline std::optional<io::ImageSize> trained_size(const std::string& folder_or_file) {
  return read_nvs_training(folder_or_file).image_size;
}

/// A folder, or a checkpoint file; the sizes of a file are those of its tensors.
std::shared_ptr<ViewModel> load_nvs(const std::string& folder_or_file);

/// Whether a model can begin with the weights of `known`: it differs in nothing but a head of Gaussians, and
/// in points on rays if `known` has none.
bool can_begin_with(const NvsConfig& config, const NvsConfig& known);

/// A model of `config` with such weights. The decoder's are fresh unless it says as many numbers of the same
/// kind; those of points on rays are zero, so that they are without effect at first.
struct BegunModel {
  std::shared_ptr<ViewModel> model;
  bool fresh_decoder = false;
};
BegunModel load_nvs_as(const NvsConfig& config, const std::string& folder_or_file);

/// Gives a model the tensors of a checkpoint file, under the authors' names or ours; what else a .pt file
/// holds, such as an optimizer's state, is passed over.
void load_nvs_weights(ViewModel& model, const std::string& file);

/// Creates the folder if it is missing. The config is written first, the tensors replace older ones
/// atomically. `type` is float32 or bfloat16, which takes half the space.
void save_nvs(const std::string& folder, const ViewModel& model, at::ScalarType type = at::kFloat,
              const NvsTraining& training = {});
void save_nvs_config(const std::string& folder, const NvsConfig& config, const NvsTraining& training = {});

/// 16 hexadecimal digits that differ when any weight or size differs.
std::string fingerprint(const ViewModel& model);

}  // namespace lact::models
