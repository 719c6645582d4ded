// Novel view synthesis: patches of posed images and of rays become tokens; blocks of per-image attention,
// LaCT and a GELU feed-forward; a linear decoder of patches (paper section 4.1 and appendix). Layers have no
// biases but the rates'.
#pragma once

#include "lact/io/image_size.h"
#include "lact/mixers/perceiver/registers.h"
#include "lact/mixers/recurrent/mamba2_mixer.h"
#include "lact/models/common/cost.h"
#include "lact/models/common/layers.h"

namespace lact::models {

/// Per pixel: origin and direction of the ray and their cross product; then the colours, zero for a target
/// view.
inline constexpr int64_t kRayChannels = 9;
inline constexpr int64_t kColorChannels = 3;

AttentionLayerConfig nvs_attention(int64_t num_heads);

/// One fast-weight head, updated by Muon; `hidden_multiple` 2 gives 6 d² of state per block.
LactLayerConfig nvs_memory(double hidden_multiple);

/// Views are a set, which a recurrence passes over in both directions.
recurrent::GlaConfig nvs_gla();
recurrent::DeltaNetConfig nvs_deltanet();  ///< heads of 128, as the paper's

struct NvsConfig {
  int64_t patch_size = 8;
  int64_t model_dim = 768;
  int64_t num_layers = 24;
  AttentionLayerConfig attention = nvs_attention(12);
  MixerPattern mixer = MixerKind::lact;
  LactLayerConfig lact = nvs_memory(2);
  recurrent::GlaConfig gla = nvs_gla();
  recurrent::DeltaNetConfig deltanet = nvs_deltanet();
  recurrent::Mamba2MixerConfig mamba2;
  perceiver::PerceiverConfig perceiver;
  nn::FeedForwardOptions feed_forward = {nn::FeedForwardKind::gelu, 3072};
  nn::NormOptions norm = {nn::NormKind::layer, 1e-5};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("patch_size", patch_size, "side of a square patch in pixels; a patch is a token");
    field("model_dim", model_dim, "width of the model");
    field("num_layers", num_layers, "blocks");
    field("attention", attention, "attention inside each image");
    field("mixer", mixer,
          "between images: lact; gla, deltanet or mamba2; full, attention of all tokens to the input images, "
          "or perceiver, registers that read the input images in the first half of the blocks and are looked "
          "at in the second, both with the heads of `attention`; or a pattern of layers such as 3 lact : 1 "
          "full");
    field("lact", lact, "memory of all input images, if the mixer is lact");
    field("gla", gla,
          "gated linear attention over all input images, with projections like those of `attention`, if the "
          "mixer is gla");
    field("deltanet", deltanet, "the delta rule, likewise, if the mixer is deltanet");
    field("mamba2", mamba2, "Mamba-2 over all input images, if the mixer is mamba2");
    field("perceiver", perceiver, "registers, if the mixer is perceiver");
    field("feed_forward", feed_forward, "feed-forward network of a block");
    field("norm", norm, "norms of the blocks, after the input layer and before the decoder");
  }
  bool operator==(const NvsConfig&) const = default;

  int64_t input_channels() const { return (kRayChannels + kColorChannels) * patch_size * patch_size; }
  int64_t output_channels() const { return kColorChannels * patch_size * patch_size; }

  /// The first blocks, which read the input views into their memory; a Perceiver's others only look.
  int64_t writing_layers() const { return mixer == MixerKind::perceiver ? num_layers / 2 : num_layers; }

  /// Throws one sentence for sizes that cannot work.
  void check() const;
};

/// How many tokens there are: the paper measures 48 input views of 512 x 512 pixels.
struct ViewSet {
  int64_t inputs = 48;
  io::ImageSize image_size = {512, 512};
};

/// Per token of an input view; all input views are written at once.
ModelCost cost(const NvsConfig& config, const ViewSet& views = {});

}  // namespace lact::models
