// Novel view synthesis: patches of posed images and of rays become tokens; blocks of per-image attention,
// LaCT and a GELU feed-forward; a linear decoder of patches (paper section 4.1 and appendix). Layers have no
// biases but the rates'.
#pragma once

#include "lact/io/image_size.h"
#include "lact/mixers/perceiver/registers.h"
#include "lact/mixers/recurrent/mamba2_block.h"
#include "lact/mixers/recurrent/mamba2_mixer.h"
#include "lact/models/common/cost.h"
#include "lact/models/common/layers.h"
#include "lact/ops/splat/gaussian_head.h"

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

/// What tokens become: colours of the views that were asked for, or Gaussians that any view is drawn from.
enum class NvsHead { image, gaussians };
constexpr std::array<std::pair<NvsHead, std::string_view>, 2> enum_names(NvsHead) {
  return {{{NvsHead::image, "image"}, {NvsHead::gaussians, "gaussians"}}};
}

/// One for each pixel of the input views, or of virtual views.
struct GaussiansConfig : ops::GaussianHeadOptions {
  int64_t virtual_views = 0;
  double keep = 1;
  double keep_random = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    ops::GaussianHeadOptions::visit(field);
    field(
        "virtual_views", virtual_views,
        "0: Gaussians are those of the input views' own tokens. Otherwise so many cameras of input views, "
        "evenly chosen, look at the memory, and what they see becomes Gaussians: their number does not grow "
        "with the input");
    field("keep", keep, "share of the Gaussians that is kept, the most opaque ones");
    field("keep_random", keep_random,
          "share of those kept that training draws from the others, so that they can become opaque");
  }
  bool operator==(const GaussiansConfig&) const = default;
};

/// What Long-LRM (Ziwen et al. 2024) has of its own. Its layers are Mamba-2 blocks and Transformer layers
/// over all tokens of all views; four neighbours become one token on the way.
struct LongLrmConfig {
  int64_t global_tokens = 2;
  int64_t merge_at = 8;
  int64_t merged_dim = 1024;
  bool norm_bias = true;
  recurrent::Mamba2BlockConfig mamba2 = {.both_ways = true};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("global_tokens", global_tokens, "learned tokens in front of those of the images");
    field("merge_at", merge_at, "layers before 2 x 2 tokens become one; 0: they never do");
    field("merged_dim", merged_dim,
          "width of the model from there on; heads and hidden channels become more with it");
    field("norm_bias", norm_bias, "the norms of Transformer layers have a learned shift");
    field("mamba2", mamba2, "its Mamba-2 blocks");
  }
  bool operator==(const LongLrmConfig&) const = default;
};

/// What tokens are told of their rays besides origins, directions and moments, which a small model is slow
/// to make places in space of.
struct RayPoints {
  int64_t count = 0;
  int64_t octaves = 5;
  double reach = 1;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("count", count,
          "points on the mean ray of a patch, about the ray's nearest to the origin, that tokens are told by "
          "sines and cosines; 0: none, as in the paper");
    field("octaves", octaves,
          "frequencies of these, the longest wave 2 and each half as long as the one before");
    field("reach", reach,
          "distance of the first and last point from the middle one, where 1 is the farthest camera's");
  }
  bool operator==(const RayPoints&) const = default;

  int64_t channels() const { return 6 * count * octaves; }
};

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
  LongLrmConfig long_lrm;
  nn::FeedForwardOptions feed_forward = {nn::FeedForwardKind::gelu, 3072};
  nn::NormOptions norm = {nn::NormKind::layer, 1e-5};
  RayPoints ray_points;
  NvsHead head = NvsHead::image;
  GaussiansConfig gaussians;

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
          "full. A pattern with mamba2_block, such as 7 mamba2_block : 1 full, is Long-LRM");
    field("lact", lact, "memory of all input images, if the mixer is lact");
    field("gla", gla,
          "gated linear attention over all input images, with projections like those of `attention`, if the "
          "mixer is gla");
    field("deltanet", deltanet, "the delta rule, likewise, if the mixer is deltanet");
    field("mamba2", mamba2, "Mamba-2 over all input images, if the mixer is mamba2");
    field("perceiver", perceiver, "registers, if the mixer is perceiver");
    field("long_lrm", long_lrm, "Long-LRM, if the mixer has mamba2_block");
    field("feed_forward", feed_forward, "feed-forward network of a block");
    field("norm", norm, "norms of the blocks, after the input layer and before the decoder");
    field("ray_points", ray_points, "places in space that tokens are told besides the rays of their pixels");
    field("head", head,
          "what tokens become: image, colours of the views that are asked for, or gaussians, one for each "
          "pixel of the input views, from which any view is drawn");
    field("gaussians", gaussians, "if the head is gaussians");
  }
  bool operator==(const NvsConfig&) const = default;

  bool is_long_lrm() const { return mixer.has(MixerKind::mamba2_block); }
  bool has_gaussians() const { return head == NvsHead::gaussians; }
  bool merges_tokens() const { return is_long_lrm() && long_lrm.merge_at > 0; }

  /// Pixels of a side that a token of the decoder stands for; those of pictures are a multiple of it.
  int64_t decoded_patch() const { return merges_tokens() ? 2 * patch_size : patch_size; }
  /// Long-LRM has no use for the origins of rays.
  int64_t input_channels() const {
    const int64_t pixel = is_long_lrm() ? kRayChannels : kRayChannels + kColorChannels;
    return pixel * patch_size * patch_size + ray_points.channels();
  }
  int64_t output_channels() const {
    return (has_gaussians() ? gaussians.channels() : kColorChannels) * decoded_patch() * decoded_patch();
  }
  int64_t decoded_dim() const { return merges_tokens() ? long_lrm.merged_dim : model_dim; }

  /// Views whose tokens go through the model to show so many targets: Gaussians are drawn without it.
  int64_t token_views(int64_t inputs, int64_t targets) const {
    return inputs + (has_gaussians() ? std::min(inputs, gaussians.virtual_views) : targets);
  }

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
