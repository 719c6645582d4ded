// The causal video autoencoder of Wan 2.1; its parameters have the published names. Latents here are as the
// network makes them; `scaled` and `unscaled` lead to and from those of the diffusion model, which have mean
// 0 and deviation 1 in each channel.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "lact/models/vae/config.h"
#include "lact/models/vae/layers.h"

namespace lact::models {

/// Layers that run one after the other: conv1, residual blocks and resampling, middle, head.
class VaeStack : public torch::nn::Module {
 public:
  at::Tensor forward(const at::Tensor& x, FrameCaches* caches) const;

 protected:
  template <class Layer>
  void add(torch::nn::Module& owner, const std::string& name, std::shared_ptr<Layer> layer);
  /// Residual block, attention, residual block.
  void add_middle(int64_t channels);

  std::vector<std::shared_ptr<FrameLayer>> layers_;
};

class VaeEncoder : public VaeStack {
 public:
  explicit VaeEncoder(const VaeConfig& config);
};

class VaeDecoder : public VaeStack {
 public:
  explicit VaeDecoder(const VaeConfig& config);
};

/// Mean and logarithm of the variance of latents, [B, latent_channels, frames, rows, columns] each.
struct LatentMoments {
  at::Tensor mean, log_variance;
};

class Vae : public torch::nn::Module {
 public:
  explicit Vae(const VaeConfig& config);
  const VaeConfig& config() const { return config_; }

  /// Pixels [B, 3, 1 + temporal · n, H, W] in [-1, 1] of a whole clip. With caches: the next piece of one,
  /// temporal · n frames after the first piece.
  LatentMoments encode(const at::Tensor& pixels, FrameCaches* caches = nullptr) const;

  /// Latents [B, latent_channels, 1 + n, rows, columns] -> pixels, which may lie outside of [-1, 1]. With
  /// caches: the next n latent frames.
  at::Tensor decode(const at::Tensor& latents, FrameCaches* caches = nullptr) const;

  /// (latents - mean) / std of the config.
  at::Tensor scaled(const at::Tensor& latents) const;
  at::Tensor unscaled(const at::Tensor& latents) const;

  /// What `scaled` uses from now on, one number per channel.
  void set_latent_scale(const std::vector<double>& mean, const std::vector<double>& std);

 private:
  /// One number per channel, for latents; `otherwise` if the config has none.
  at::Tensor per_channel(const std::vector<double>& values, double otherwise,
                         const at::Tensor& latents) const;

  VaeConfig config_;
  std::shared_ptr<VaeEncoder> encoder_;
  std::shared_ptr<CausalConv> conv1_, conv2_;  ///< of the moments, and before the decoder
  std::shared_ptr<VaeDecoder> decoder_;
};

}  // namespace lact::models
