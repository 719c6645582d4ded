// The sequence-mixing layers of the three models as configs of their parts, and the functions that build
// them.
#pragma once

#include "lact/mixers/attention/full.h"
#include "lact/mixers/attention/window.h"
#include "lact/mixers/hybrid.h"
#include "lact/mixers/lact/original_ttt.h"
#include "lact/mixers/projection.h"
#include "lact/mixers/recurrent/deltanet.h"
#include "lact/mixers/recurrent/gla.h"
#include "lact/mixers/recurrent/mamba2.h"
#include "lact/mixers/single.h"
#include "lact/models/common/mixer_kind.h"

namespace lact::models {

/// Algorithm 2: window attention and a memory over shared q, k, v (language model, video). Which memory is
/// the mixer's word; `memory` is LaCT's. Full attention has the heads of the window.
struct HybridLayerConfig {
  ProjectionConfig projection;
  attention::AttentionConfig attention;
  ttt::LactConfig memory;
  Rescaled rescaled = Rescaled::memory;
  recurrent::GlaConfig gla;
  recurrent::DeltaNetConfig deltanet;
  recurrent::Mamba2Config mamba2;
  ttt::LactConfig ttt = ttt::original_ttt(4);

  template <class Visitor>
  void visit(Visitor&& field) {
    field("projection", projection, "q, k, v and output projections");
    field("attention", attention, "window attention, or full attention");
    field("memory", memory, "large-chunk test-time training: mixer lact");
    field("rescaled", rescaled, "who gets q and k scaled and shifted per channel: memory, attention or none");
    field("gla", gla, "gated linear attention: mixer gla");
    field("deltanet", deltanet, "the delta rule: mixer deltanet");
    field("mamba2", mamba2, "Mamba-2 in the paper's simplified form: mixer mamba2");
    field("ttt", ttt, "test-time training as it was before large chunks: mixer ttt");
  }
  bool operator==(const HybridLayerConfig&) const = default;
};

/// Algorithm 1: LaCT alone (view synthesis).
struct LactLayerConfig {
  ProjectionConfig projection;
  ttt::LactConfig memory;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("projection", projection, "q, k, v and output projections");
    field("memory", memory, "large-chunk test-time training");
  }
  bool operator==(const LactLayerConfig&) const = default;
};

/// Window attention alone.
struct AttentionLayerConfig {
  ProjectionConfig projection;
  attention::AttentionConfig attention;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("projection", projection, "q, k, v and output projections");
    field("attention", attention, "window attention");
  }
  bool operator==(const AttentionLayerConfig&) const = default;
};

/// What remembers beyond the window: null for window attention alone. Not for full attention, which has no
/// window, nor for a perceiver, which has layers of its own.
std::shared_ptr<Core> make_core(MixerKind kind, int64_t model_dim, const HybridLayerConfig& config);

/// The layer that a word stands for: window attention and what make_core gives, or full attention.
std::shared_ptr<Mixer> make_layer(int64_t model_dim, MixerKind kind, const HybridLayerConfig& config);

/// That of LaCT.
std::shared_ptr<HybridMixer> make_layer(int64_t model_dim, const HybridLayerConfig& config);
std::shared_ptr<SingleMixer> make_layer(int64_t model_dim, const LactLayerConfig& config);
std::shared_ptr<SingleMixer> make_layer(int64_t model_dim, const AttentionLayerConfig& config);

/// The same layer, but attending to everything that the layout lets a token know.
std::shared_ptr<SingleMixer> make_full_layer(int64_t model_dim, const AttentionLayerConfig& config);

}  // namespace lact::models
