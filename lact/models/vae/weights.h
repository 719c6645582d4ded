// The published autoencoder: the constructor arguments of its authors, and the sizes of a checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "lact/base/options.h"
#include "lact/models/vae/config.h"

namespace lact::models {

struct AuthorsVae {
  int64_t dim = 96, z_dim = 16, num_res_blocks = 2;
  std::vector<int64_t> dim_mult = {1, 2, 4, 4};
  std::vector<int64_t> temperal_downsample = {0, 1, 1};  ///< their spelling; true or false in JSON
};

AuthorsVae read_authors_vae(const options::Json& json, const std::string& path);
VaeConfig translate(const AuthorsVae& theirs);

/// The sizes of a checkpoint that comes without a config, from the shapes of its tensors. One with the
/// published sizes has the published latent scale, any other none. Throws, naming `file`, if it is no such
/// model.
VaeConfig vae_of_checkpoint(const std::map<std::string, at::Tensor>& tensors, const std::string& file);

}  // namespace lact::models
