// The causal video autoencoder of Wan 2.1: a clip of 1 + 4 n frames becomes 1 + n latent frames of an eighth
// of the height and width. Time is read forwards only, so that clips of any length go through piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lact::models {

inline constexpr int64_t kPixelChannels = 3;

struct VaeConfig {
  int64_t base_channels = 96;
  int64_t latent_channels = 16;
  std::vector<int64_t> channel_multiples = {1, 2, 4, 4};
  int64_t residual_blocks = 2;
  std::vector<int64_t> time_strides = {1, 2, 2};
  std::vector<double> latent_mean = {};
  std::vector<double> latent_std = {};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("base_channels", base_channels, "channels at full resolution");
    field("latent_channels", latent_channels, "channels of a latent frame");
    field("channel_multiples", channel_multiples,
          "channels of each resolution, as multiples of base_channels; every further one halves the picture");
    field("residual_blocks", residual_blocks, "residual blocks per resolution; the decoder has one more");
    field("time_strides", time_strides,
          "2 where the step to a further resolution also halves the frame rate, else 1");
    field("latent_mean", latent_mean, "subtracted from each latent channel; empty is zero");
    field("latent_std", latent_std, "divides each latent channel; empty is one");
  }
  bool operator==(const VaeConfig&) const = default;

  int64_t stages() const { return int64_t(channel_multiples.size()); }
  /// Channels at each resolution, the full one first.
  std::vector<int64_t> channels() const;

  /// Pixels per latent row or column, and frames per latent frame after the first.
  int64_t spatial() const;
  int64_t temporal() const;

  /// Throws one sentence for sizes that cannot work.
  void check() const;
};

VaeConfig vae_wan();    ///< as published: 8 x 8 x 4 pixels become 16 numbers; 127 million parameters
VaeConfig vae_small();  ///< the same reduction, trains on a processor
VaeConfig vae_tiny();   ///< 4 x 4 x 2 pixels, for quick trials

}  // namespace lact::models
