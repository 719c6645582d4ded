#include "lact/models/vae/weights.h"

#include "lact/base/error.h"

namespace lact::models {

namespace {

struct AuthorsVaeSizes {
  AuthorsVae& sizes;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("dim", sizes.dim, "channels at full resolution");
    field("z_dim", sizes.z_dim, "channels of the latent");
    field("dim_mult", sizes.dim_mult, "multiples of dim");
    field("num_res_blocks", sizes.num_res_blocks, "residual blocks per resolution");
  }
};

}  // namespace

AuthorsVae read_authors_vae(const options::Json& json, const std::string& path) {
  AuthorsVae theirs;
  if (!json.is_object()) options::wrong_value(path, json, "an object");
  options::Json rest = json;
  if (rest.contains("temperal_downsample")) {
    const options::Json steps = rest["temperal_downsample"];
    const std::string where = options::join(path, "temperal_downsample");
    if (!steps.is_array()) options::wrong_value(where, steps, "a list");
    theirs.temperal_downsample.clear();
    for (const auto& step : steps) {
      if (!step.is_boolean()) options::wrong_value(where, step, "true or false");
      theirs.temperal_downsample.push_back(step.get<bool>() ? 1 : 0);
    }
    rest.erase("temperal_downsample");
  }
  AuthorsVaeSizes sizes{theirs};
  options::read(rest, sizes, path);
  return theirs;
}

VaeConfig translate(const AuthorsVae& theirs) {
  VaeConfig config;
  config.base_channels = theirs.dim;
  config.latent_channels = theirs.z_dim;
  config.channel_multiples = theirs.dim_mult;
  config.residual_blocks = theirs.num_res_blocks;
  config.time_strides.clear();
  for (const int64_t halved : theirs.temperal_downsample) config.time_strides.push_back(halved ? 2 : 1);
  return config;
}

VaeConfig vae_of_checkpoint(const std::map<std::string, at::Tensor>& tensors, const std::string& file) {
  const auto channels = [&](const std::string& name) {
    const auto found = tensors.find(name);
    LACT_CHECK(found != tensors.end(), "{}: tensor {} is missing, so it is no video autoencoder", file, name);
    LACT_CHECK(found->second.dim() >= 4 && found->second.numel() > 0,
               "{}: tensor {} has shape {}, expected that of a convolution", file, name,
               found->second.sizes().vec());
    return found->second.size(0);
  };
  VaeConfig config;
  config.base_channels = channels("encoder.conv1.weight");
  config.latent_channels = channels("conv2.weight");
  config.channel_multiples.clear();
  config.time_strides.clear();
  config.residual_blocks = 0;
  int64_t blocks = 0, width = config.base_channels;
  const auto end_stage = [&] {
    config.channel_multiples.push_back(width / config.base_channels);
    if (config.residual_blocks == 0) config.residual_blocks = blocks;
    blocks = 0;
  };
  for (int64_t index = 0;; ++index) {
    const std::string layer = fmt::format("encoder.downsamples.{}.", index);
    if (tensors.count(layer + "residual.2.weight") > 0) {
      width = channels(layer + "residual.2.weight");
      ++blocks;
    } else if (tensors.count(layer + "resample.1.weight") > 0) {
      end_stage();
      config.time_strides.push_back(tensors.count(layer + "time_conv.weight") > 0 ? 2 : 1);
    } else {
      break;
    }
  }
  end_stage();
  VaeConfig published = vae_wan();
  VaeConfig scaled = config;
  scaled.latent_mean = published.latent_mean;
  scaled.latent_std = published.latent_std;
  if (scaled == published) config = scaled;
  try {
    config.check();
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
  return config;
}

}  // namespace lact::models
