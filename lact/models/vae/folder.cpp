#include "lact/models/vae/folder.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "lact/base/error.h"
#include "lact/base/out_of_memory.h"
#include "lact/io/tensor_folder.h"
#include "lact/models/common/checkpoint.h"
#include "lact/models/common/config_file.h"
#include "lact/models/common/foreign.h"
#include "lact/nn/init.h"

namespace lact::models {

namespace {

const char* const kVaeType = "wan_vae";
const char* const kVaeWords = "video autoencoder";

}  // namespace

VaeConfig read_vae_config(const std::string& folder) {
  return read_config_of<VaeConfig>(folder, kVaeType, kVaeWords);
}

std::shared_ptr<Vae> load_vae(const std::string& folder_or_file) {
  if (std::filesystem::is_regular_file(folder_or_file)) {
    auto tensors = read_checkpoint(folder_or_file, "encoder.conv1.weight", kVaeWords);
    auto model = nn::make_uninitialised<Vae>(vae_of_checkpoint(tensors, folder_or_file));
    adopt_foreign(*model, own_names(*model), folder_or_file, std::move(tensors));
    return model;
  }
  const VaeConfig config = read_vae_config(folder_or_file);
  auto model = making(folder_or_file + ": the autoencoder's weights",
                      [&] { return nn::make_uninitialised<Vae>(config); });
  adopt_foreign(*model, own_names(*model), folder_or_file, io::read_tensor_folder(folder_or_file));
  return model;
}

void save_vae(const std::string& folder, const Vae& model, at::ScalarType type) {
  LACT_CHECK(type == at::kFloat || type == at::kBFloat16,
             "{}: weights are saved as float32 or bfloat16, not as {}", folder, toString(type));
  write_config_file(folder, kVaeType, options::write(model.config()));
  auto tensors = export_foreign(model, own_names(model));
  for (auto& [name, tensor] : tensors) tensor = tensor.to(type);
  io::write_tensor_folder(folder, tensors);
}

std::string fingerprint(const Vae& model) {
  return fingerprint_of(model, options::write(model.config()).dump());
}

}  // namespace lact::models
