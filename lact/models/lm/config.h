// The language model: token embeddings, blocks of the in-layer hybrid (sliding window attention + LaCT over
// shared q, k, v), or of another mixer, and a SwiGLU feed-forward, a final norm and an output head (paper
// section 4.2 and appendix).
#pragma once

#include "lact/models/common/cost.h"
#include "lact/models/common/layers.h"

namespace lact::models {

/// The authors' layer: rotary embedding of base 10⁶ in both branches, momentum + Muon, low-rank initial fast
/// weights. Of the other mixers, GLA has the memory's heads, DeltaNet, Mamba-2 and the
/// original TTT the attention's.
HybridLayerConfig lm_layer(int64_t attention_heads, int64_t memory_heads);

inline constexpr const char* kMixerHelp =
    "lact, ttt, gla, deltanet or mamba2 (each beside window attention), window (attention alone) or full "
    "(causal "
    "attention to the whole text); or a pattern of layers such as 3 lact : 1 full";

/// Hidden width of the SwiGLU feed-forward: two thirds of four times the model width, rounded up to a
/// multiple of 256.
int64_t lm_hidden_dim(int64_t model_dim);

struct LmConfig {
  int64_t vocabulary_size = 32000;
  int64_t model_dim = 768;
  int64_t num_layers = 12;
  MixerPattern mixer = MixerKind::lact;
  HybridLayerConfig layer = lm_layer(12, 4);
  nn::FeedForwardOptions feed_forward = {nn::FeedForwardKind::swiglu, lm_hidden_dim(768)};
  nn::NormOptions norm = {nn::NormKind::rms, 1e-6};
  int64_t chunk_size = 2048;
  int64_t window_size = 2048;
  bool tie_embeddings = false;
  double init_std = 0.02;
  double embedding_std = 0;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("vocabulary_size", vocabulary_size, "tokens of the vocabulary");
    field("model_dim", model_dim, "width of the model");
    field("num_layers", num_layers, "blocks");
    field("mixer", mixer, kMixerHelp);
    field("layer", layer, "projections, attention and memories of a block, of which the mixer takes its own");
    field("feed_forward", feed_forward, "feed-forward network of a block");
    field("norm", norm, "norms of the blocks and before the output head");
    field("chunk_size", chunk_size, "tokens that are written into the fast weights at once");
    field("window_size", window_size, "tokens that the sliding window covers, the present one included");
    field("tie_embeddings", tie_embeddings, "the output head shares the embeddings' matrix");
    field("init_std", init_std, "standard deviation of the initial linear layers");
    field("embedding_std", embedding_std, "standard deviation of the initial embeddings; 0 is init_std");
  }
  bool operator==(const LmConfig&) const = default;

  /// Throws one sentence for sizes that cannot work.
  void check() const;

  /// Tokens that may be seen by nobody: they have left the window, but their chunk is not written yet. 0 if
  /// the window is as long as a chunk ("without bubbles", paper appendix), or if there is no memory.
  int64_t unseen_tokens() const;

  /// How many of the last tokens of an unfinished chunk a state can forget: all of them where every layer
  /// keeps them apart, a few with a convolution, none with a recurrence.
  int64_t forgettable_tokens() const;
  bool forgets_by_token() const { return forgettable_tokens() >= chunk_size; }
};

/// Says so in one line to stderr that begins with `place`; nothing if there are none.
void warn_of_unseen_tokens(const LmConfig& config, const std::string& place);

/// How long a text is: the paper trains and measures on 32,768 tokens.
struct TextLength {
  int64_t tokens = 32768;
};

/// Of the last token of a text longer than the window.
ModelCost cost(const LmConfig& config, const TextLength& text = {});

}  // namespace lact::models
