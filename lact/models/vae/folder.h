// An autoencoder as a folder, config.json and model.safetensors; or as a published checkpoint, a .pth or
// .safetensors file. Tensors have the published names.
#pragma once

#include <memory>
#include <string>

#include "lact/models/vae/model.h"
#include "lact/models/vae/weights.h"

namespace lact::models {

/// The config alone; nothing is built.
VaeConfig read_vae_config(const std::string& folder);

/// A folder, or a checkpoint file; the sizes of a file are those of its tensors.
std::shared_ptr<Vae> load_vae(const std::string& folder_or_file);

/// Creates the folder if it is missing. The config is written first, the tensors replace older ones
/// atomically. `type` is float32 or bfloat16, which takes half the space.
void save_vae(const std::string& folder, const Vae& model, at::ScalarType type = at::kFloat);

/// 16 hexadecimal digits that differ when any weight, size or scale differs.
std::string fingerprint(const Vae& model);

}  // namespace lact::models
