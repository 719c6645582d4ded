// The sequence-mixing layers of the three models as configs of their parts, and the functions that build
// them.
#pragma once

#include "lact/mixers/attention/full.h"
#include "lact/mixers/attention/window.h"
#include "lact/mixers/hybrid.h"
#include "lact/mixers/lact/lact.h"
#include "lact/mixers/projection.h"
#include "lact/mixers/single.h"

namespace lact::models {

/// What remembers beyond the window: LaCT, or nothing (the window-only baseline of the same model).
enum class MemoryKind { lact, none };
constexpr std::array<std::pair<MemoryKind, std::string_view>, 2> enum_names(MemoryKind) {
  return {{{MemoryKind::lact, "lact"}, {MemoryKind::none, "none"}}};
}

/// Algorithm 2: window attention and LaCT over shared q, k, v (language model, video).
struct HybridLayerConfig {
  ProjectionConfig projection;
  attention::AttentionConfig attention;
  MemoryKind memory_kind = MemoryKind::lact;
  ttt::LactConfig memory;
  Rescaled rescaled = Rescaled::memory;

  template <class Visitor>
  void visit(Visitor&& field) {
    field("projection", projection, "q, k, v and output projections");
    field("attention", attention, "window attention");
    field("memory_kind", memory_kind, "lact, or none: window attention alone");
    field("memory", memory, "large-chunk test-time training");
    field("rescaled", rescaled, "who gets q and k scaled and shifted per channel: memory, attention or none");
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

std::shared_ptr<HybridMixer> make_layer(int64_t model_dim, const HybridLayerConfig& config);
std::shared_ptr<SingleMixer> make_layer(int64_t model_dim, const LactLayerConfig& config);
std::shared_ptr<SingleMixer> make_layer(int64_t model_dim, const AttentionLayerConfig& config);

/// The same layer, but attending to everything that the layout lets a token know.
std::shared_ptr<SingleMixer> make_full_layer(int64_t model_dim, const AttentionLayerConfig& config);

}  // namespace lact::models
