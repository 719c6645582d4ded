// Autoregressive video diffusion: the transformer of Wan 2.1 (text to video) whose self-attention became the
// in-layer hybrid of two-chunk window attention and LaCT (paper section 4.3 and appendix). It works on latent
// frames.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "lact/mixers/layout.h"
#include "lact/models/common/cost.h"
#include "lact/models/common/layers.h"

namespace lact::models {

/// Wan's projections with biases and full-width norms of q and k; its rotary embedding in both branches;
/// plain gradient steps; the memory's output starts at zero, so that a pretrained model is unchanged.
HybridLayerConfig video_layer(int64_t attention_heads, int64_t memory_heads, double hidden_multiple = 1);

/// Every video token attends to every token of the text.
struct CrossAttentionConfig {
  int64_t num_heads = 12;
  ProjectionConfig projection = {true, true, true, 1e-6};

  template <class Visitor>
  void visit(Visitor&& field) {
    field("num_heads", num_heads, "attention heads");
    field("projection", projection, "q of the video, k and v of the text, and output");
  }
  bool operator==(const CrossAttentionConfig&) const = default;
};

/// What the last layer answers with: the velocity, as Wan does, or the clean chunk, of which the velocity is
/// made. Noise fills all numbers of a patch, clean pictures few: a model that is not much wider than its
/// patches can name the latter and not carry the former ("Back to Basics", 2511.13720).
enum class FlowPrediction { velocity, clean };
constexpr std::array<std::pair<FlowPrediction, std::string_view>, 2> enum_names(FlowPrediction) {
  return {{{FlowPrediction::velocity, "velocity"}, {FlowPrediction::clean, "clean"}}};
}

struct VideoConfig {
  int64_t model_dim = 1536;
  int64_t num_layers = 30;
  MixerPattern mixer = MixerKind::lact;
  HybridLayerConfig layer = video_layer(12, 2, 2);
  CrossAttentionConfig cross_attention;
  nn::NormOptions cross_norm = {nn::NormKind::layer, 1e-6, true};
  nn::FeedForwardOptions feed_forward = {nn::FeedForwardKind::gelu_tanh, 8960, true};
  double norm_epsilon = 1e-6;
  int64_t text_dim = 4096;
  int64_t text_length = 512;
  int64_t frequency_dim = 256;
  int64_t in_channels = 16;
  int64_t out_channels = 16;
  std::vector<int64_t> patch = {1, 2, 2};
  int64_t chunk_frames = 3;
  int64_t latent_height = 60;
  int64_t latent_width = 104;
  int64_t visible_clean = -1;
  FlowPrediction prediction = FlowPrediction::velocity;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("model_dim", model_dim, "width of the model");
    field("num_layers", num_layers, "blocks");
    field("mixer", mixer,
          "what a chunk knows of earlier ones: the last through window attention, all through a memory "
          "(lact, ttt, gla, "
          "deltanet, mamba2); only the last (window); all, through block-causal attention (full); or a "
          "pattern of "
          "layers such as 3 lact : 1 full");
    field("layer", layer, "projections, attention and memories of a block, of which the mixer takes its own");
    field("cross_attention", cross_attention, "attention of a block to the text");
    field("cross_norm", cross_norm, "norm before the cross attention; the other norms have no parameters");
    field("feed_forward", feed_forward, "feed-forward network of a block");
    field("norm_epsilon", norm_epsilon, "epsilon of the norms that the time step modulates");
    field("text_dim", text_dim, "channels of the text encoder's output");
    field("text_length", text_length, "tokens of a text, padding included");
    field("frequency_dim", frequency_dim, "channels of the sinusoidal time embedding");
    field("in_channels", in_channels, "channels of the latent video");
    field("out_channels", out_channels, "channels of the predicted velocity");
    field("patch", patch, "latent frames, rows and columns that form a token");
    field("chunk_frames", chunk_frames, "latent frames that are denoised together and written at once");
    field("latent_height", latent_height, "rows of a latent frame, unless a clip has others");
    field("latent_width", latent_width, "columns of a latent frame, unless a clip has others");
    field("visible_clean", visible_clean,
          "tokens of the clean chunk before that a noisy chunk attends to; -1 is all");
    field(
        "prediction", prediction,
        "what the last layer answers with: velocity, or the clean chunk, of which the velocity is made, for "
        "models that are not much wider than their patches");
  }
  bool operator==(const VideoConfig&) const = default;

  /// The tokens of a chunk.
  ChunkGrid grid() const;
  int64_t patch_size() const;

  /// Throws one sentence for sizes that cannot work.
  void check() const;
};

/// How long a clip is: 7 chunks of 3 latent frames are the 5 seconds that Wan was trained on.
struct ClipLength {
  int64_t chunks = 7;
};

/// Per token of the last noisy chunk, with the update of a clean one. What is computed once per text
/// or time step (embeddings, the text's k and v) has parameters here but no work per token.
ModelCost cost(const VideoConfig& config, const ClipLength& clip = {});

}  // namespace lact::models
