// Training an autoencoder: the clip through a sample of its latents and back.
#pragma once

#include <ATen/core/Generator.h>

#include <optional>

#include "lact/models/vae/model.h"

namespace lact::models {

struct VaeLossOptions {
  double kl_weight = 1e-4;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("kl_weight", kl_weight,
          "weight of the divergence from normal latents, per latent number, against the error per pixel");
  }
  bool operator==(const VaeLossOptions&) const = default;
};

struct VaeLoss {
  at::Tensor total;           ///< reconstruction + kl_weight · divergence
  at::Tensor reconstruction;  ///< mean |pixel - decoded pixel|
  at::Tensor divergence;      ///< mean over the latents of KL(N(mean, variance) || N(0, 1))
};

/// clip [B, 3, 1 + temporal · n, H, W] in [-1, 1]. Scalars; gradients flow to all parameters. The noise comes
/// from `generator`, or LibTorch's own.
VaeLoss vae_loss(const Vae& model, const at::Tensor& clip, const VaeLossOptions& options = {},
                 std::optional<at::Generator> generator = {});

/// Mean and deviation of each latent channel over many clips, for Vae::set_latent_scale after training.
class LatentStatistics {
 public:
  /// latents [B, channels, frames, rows, columns], unscaled
  void add(const at::Tensor& latents);

  std::vector<double> mean() const;
  std::vector<double> std() const;

 private:
  at::Tensor sum_, squares_;  ///< [channels], float64
  int64_t count_ = 0;
};

}  // namespace lact::models
