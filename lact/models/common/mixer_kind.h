// What moves information along the sequence: one word for LaCT and every baseline, the same in all models.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace lact::models {

enum class MixerKind {
  lact,          ///< fast weights, a large chunk at a time; for text and video with window attention
  full,          ///< attention to all that came before, or to all input views
  window,        ///< window attention alone
  gla,           ///< gated linear attention and window attention
  deltanet,      ///< the delta rule and window attention
  mamba2,        ///< Mamba-2; for text and video with window attention
  perceiver,     ///< registers that read the input views and are read by all views
  ttt,           ///< the original test-time training: small chunks; for text and video with window attention
  mamba2_block,  ///< the full Mamba-2 block, a whole layer: Long-LRM
};
constexpr std::array<std::pair<MixerKind, std::string_view>, 9> enum_names(MixerKind) {
  return {{{MixerKind::lact, "lact"},
           {MixerKind::full, "full"},
           {MixerKind::window, "window"},
           {MixerKind::gla, "gla"},
           {MixerKind::deltanet, "deltanet"},
           {MixerKind::mamba2, "mamba2"},
           {MixerKind::perceiver, "perceiver"},
           {MixerKind::ttt, "ttt"},
           {MixerKind::mamba2_block, "mamba2_block"}}};
}

}  // namespace lact::models
